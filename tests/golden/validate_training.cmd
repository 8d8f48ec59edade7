# SPDX-License-Identifier: Apache-2.0
# Training steps of Megatron-LM on eight B200, as SimuMax publishes them (docs/b200, Apache-2.0).
cat > steps.csv <<'END'
model,layers,tp,cp,pp,dp,ep,seq,micro_batches,step_s,peak_allocated_GiB,micro_batch,seq_parallel,cp_comm,dense_layers,vocab_padded,optimizer,grad_accum,overlap,loss,clip_grad
llama3_70b,12,2,1,1,4,1,4096,4,0.7255,60.68,1,1,none,12,128512,adam_distributed,fp32,none,fused_te,1.0
llama3_405b,4,1,8,1,1,1,32768,4,2.0036,139.22,1,0,a2a,4,128384,adam_distributed,fp32,none,fused_te,1.0
deepseekv3,4,1,1,2,4,4,4096,4,0.4522,114.00,1,0,none,1,129408,adam_distributed,fp32,none,fused_te,1.0
another,4,1,1,2,4,4,4096,4,0.4522,114.00,1,0,none,1,129408,adam_distributed,fp32,none,fused_te,1.0
llama3_70b,12,2,1,1,4,1,4096,4,0.7255,60.68,1,1,ring,12,128512,adam_distributed,fp32,none,fused_te,1.0
END
leadline validate -c dgx_b200+megatron steps.csv --rows rows.csv
cut -d, -f2,4,5,7,9 rows.csv
leadline validate steps.csv
