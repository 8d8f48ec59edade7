# Machines of other tools become machine files: hardware of ZigZag, with ports in both of its forms, an architecture of
# Timeloop with the ERT of Accelergy, a problem and its mapping, a system of Stream, a configuration of SCALE-Sim, a network
# and a system of ASTRA-sim; what each has no place for is said. What is written comes back.
cat >hardware.yaml <<'END'
name: tpu_like

memories:
  rf_128B:
    size: 1024
    r_bw: 8
    w_bw: 8
    r_cost: 0.095
    w_cost: 0.095
    area: 0
    operands: [I2]
    ports:
      - fh: w_port_1
        tl: r_port_1
    served_dimensions: [] # none
  rf_2B:
    size: 16
    r_bw: 16
    w_bw: 16
    r_cost: 0.021
    w_cost: 0.021
    operands: [O]
    ports:
      - fh: w_port_1
        tl: r_port_1
        fl: w_port_2
        th: r_port_2
    served_dimensions: []
  sram_2MB:
    size: 16777216
    r_cost: 416.16
    w_cost: 378.4
    operands: [I1, O]
    ports:
      - name: r_port_1
        type: read
        bandwidth_min: 64
        bandwidth_max: 2048
        allocation:
          - I1, tl
          - O, tl
          - O, th
      - name: w_port_1
        type: write
        bandwidth_min: 64
        bandwidth_max: 2048
        allocation:
          - I1, fh
          - O, fh
          - O, fl
    served_dimensions: [D1, D2]
  dram:
    size: 10000000000
    r_bw: 64
    w_bw: 64
    r_cost: 700
    w_cost: 750
    operands: [I1, I2, O]
    ports:
      - fh: rw_port_1
        tl: rw_port_1
      - fh: rw_port_1
        tl: rw_port_1
      - fh: rw_port_1
        tl: rw_port_1
        fl: rw_port_1
        th: rw_port_1
    served_dimensions: [D1, D2]
operational_array:
  unit_energy: 0.04
  unit_area: 1
  dimensions: [D1, D2]
  sizes: [32, 32]
END
cat >arch.yaml <<'END'
architecture:
  version: 0.4
  nodes:
  - !Container
    name: system
  - !Component
    name: MainMemory
    class: DRAM
    attributes: {width: 256, datawidth: 8}
  - !Container
    name: PE
    spatial: {meshX: 16}
  - !Component
    name: GlobalBuffer
    class: SRAM
    attributes: {depth: 32768, width: 64, datawidth: 8}
  - !Component
    name: RegisterFile
    class: regfile
    attributes: {depth: 64, width: 8, datawidth: 8}
  - !Component
    name: MACC
    class: intmac
END
cat >ert.yaml <<'END'
ERT:
    version: '0.4'
    tables:
      - name: System_top_level.MainMemory[1..1]
        actions:
          - {name: read, arguments: {}, energy: 2048.0}
          - {name: write, arguments: {}, energy: 2048.0}
          - {name: update, arguments: {}, energy: 2048.0}
      - name: System_top_level.GlobalBuffer[1..16]
        actions:
          - {name: leak, energy: 0.007972}
          - {name: read, energy: 43.353054}
          - {name: write, energy: 30.878292}
          - {name: update, energy: 30.878292}
      - name: System_top_level.RegisterFile[1..16]
        actions:
          - {name: read, energy: 0.42564}
          - {name: write, energy: 0.42564}
          - {name: update, energy: 0.42564}
      - name: System_top_level.MACC[1..16]
        actions:
          - name: compute
            arguments: {}
            energy: 0.845
END
cat >problem.yaml <<'END'
problem:
  shape:
    name: conv1d
    dimensions: [C, K, R, P]
    data_spaces:
      - {name: Weights, projection: [[[C]], [[K]], [[R]]]}
      - {name: Inputs, projection: [[[C]], [[R], [P]]]}
      - {name: Outputs, projection: [[[K]], [[P]]], read_write: true}
  instance: {C: 32, K: 32, R: 3, P: 16}
mapping:
  - {target: MainMemory, type: temporal, factors: R=1 P=1 K=1 C=1, permutation: PRKC}
  - {target: PE, type: spatial, factors: C=16 K=1, permutation: CK, split: 1}
  - {target: GlobalBuffer, type: temporal, factors: [R=3, P=1, K=32, C=2], permutation: [P, R, K, C]}
  - {target: RegisterFile, type: temporal, factors: R=1 P=0 K=1 C=1, permutation: PRKC}
END
cat >core.yaml <<'END'
name: core
type: zigzag.compute
memories:
  rf: &memory
    size: 1_024
    r_cost: 0.1
    w_cost: 0.1
    operands: [I2]
    ports:
      - {name: rw_port_1, type: read_write, bandwidth_min: 8, bandwidth_max: 8, allocation: ["I2, tl", "I2, fh"]}
    served_dimensions: []
  sram:
    <<: *memory
    size: 8388608
    operands: [I1, I2, O]
    ports:
      - {name: r_port_1, type: read, bandwidth_min: 64, bandwidth_max: 512, allocation: ["I1, tl", "I2, tl", "O, tl", "O, th"]}
      - {name: w_port_1, type: write, bandwidth_min: 64, bandwidth_max: 512, allocation: ["I1, fh", "I2, fh", "O, fh", "O, fl"]}
    served_dimensions: [D1, D2]
operational_array: {unit_energy: 0.5, dimensions: [D1, D2], sizes: [16, 8]}
operator_types: [Conv, Gemm]
END
sed 's/name: core/name: simd/; s/sizes: .*/sizes: [16, 1]}/; s/Conv, Gemm/Add, Relu/' core.yaml >simd.yaml
sed 's/name: core/name: dram/; s/sizes: .*/sizes: [0, 0]}/; /operator_types/d; s/zigzag.compute/zigzag.offchip/; s/  sram:/  main:/' core.yaml >dram.yaml
cat >system.yaml <<'END'
name: system
cores: {0: core.yaml, 1: ./cores/core.yaml, 2: core.yaml, 3: core.yaml, 4: simd.yaml, 5: dram.yaml}
offchip_core_id: 5
core_coordinates: {0: [0, 0]}
core_connectivity:
  - {type: link, cores: [0, 1], bandwidth: 32}
  - {type: link, cores: [2, 3], bandwidth: 32}
  - {type: link, cores: [0, 2], bandwidth: 32}
  - {type: link, cores: [1, 3], bandwidth: 32}
  - {type: link, cores: [4, 0], bandwidth: 64}
  - {type: link, cores: [3, 4], bandwidth: 64, unit_energy_cost: 8}
  - {type: bus, cores: [0, 1, 2, 3, 4, 5], bandwidth: 128}
END
cat >scale.cfg <<'END'
[general]
run_name = small
[architecture_presets]
ArrayHeight: 16
ArrayWidth: 8
IfmapSramSzkB: 64
FilterSramSzkB: 32
OfmapSramSzkB: 32
IfmapOffset: 0
Dataflow: ws
Bandwidth: 10
[run_presets]
InterfaceBandwidth: USER
END
cat >network.yml <<'END'
topology: [ Ring, FullyConnected, Switch ]
npus_count: [ 2, 8, 4 ]
bandwidth: [ 200.0, 100.0, 50.0 ]  # GB/s
latency: [ 50.0, 500.0, 2000.0 ]  # ns
END
cat >system.json <<'END'
{"scheduling-policy": "LIFO", "all-reduce-implementation": ["ring", "direct", "halvingDoubling"], "local-mem-bw": 1600, "peak-perf": 900}
END
again() { # FORMAT MACHINE ENDING: exported, imported and exported again
    leadline machines --export "$1" "$2" -o "one.$3" >/dev/null && leadline machines --import "$1" one.* -o again.yaml >/dev/null &&
        leadline machines --export "$1" again.yaml -o "two.$3" >/dev/null && cmp "one.$3" "two.$3" && echo "$2 comes back"
    rm one.* two.*
}
leadline machines --import zigzag hardware.yaml
leadline machines --import timeloop arch.yaml ert.yaml problem.yaml -o m.yaml
leadline map -c m.yaml K=32 C=32 FX=3 OX=16
leadline machines --import zigzag system.yaml -o chip.yaml
cat chip.yaml
leadline machines chip.yaml | head -n 1
leadline machines --import scalesim scale.cfg -o scale.yaml
sed '/run_presets/,$d; s/SzkB/Sz/; /Bandwidth/d' scale.cfg >scale1.cfg
leadline machines --import scalesim scale1.cfg -o one.yaml | head -n 1
diff scale.yaml one.yaml
leadline sim -c scale1.cfg traces/alexnet_infer_b1.llt | grep 'bound by'
rm one.yaml
leadline machines --import astra-sim system.json network.yml -o pod.yaml --json
cat pod.yaml
leadline sim -c pod.yaml traces/alexnet_infer_b1.llt | grep -E 'ms/step .*samples|MBU' # a roof: 259 MB at 1.6 TB/s
leadline machines --import astra-sim network.yml --device h100_sxm -o pod.yaml
mkdir sub other # a device is a file beside what is written, or elsewhere
cp scale.yaml sub/npu.yaml
cp scale.yaml other/npu.yaml
for device in sub/npu.yaml other/npu.yaml; do
    leadline machines --import astra-sim network.yml --device "$device" -o other/pod.yaml
    sed -n "s|$PWD|.|; /inherits/p" other/pod.yaml
    leadline machines other/pod.yaml | head -n 1
done
leadline machines --import astra-sim network.yml --device sub/npu.yaml | head -n 2
leadline machines --export timeloop m.yaml
leadline machines --export astra-sim tpu_v4_pod -o pod.yml >/dev/null
cat pod.yml pod.json
for machine in zigzag_tpu_like zigzag_dimc zigzag_gemm_l1 eyeriss_array; do again zigzag $machine yaml; done
for machine in m.yaml timeloop_eyeriss timeloop_simba_like eyeriss_array; do again timeloop $machine yaml; done
for machine in scale.yaml tpu_v1; do again scalesim $machine cfg; done
for machine in dgx_h100 pod.yaml; do again astra-sim $machine yml; done

# Words of any width; rows of what was left out and assumed.
for bits in 2,2 8,8 8,4 24,24 64,33; do
    sed "\$a \ \ input_precision: [$bits]" hardware.yaml >wide.yaml
    leadline machines --import zigzag wide.yaml -o wide_machine.yaml --format csv | grep -E '^list|precision'
    grep -E '^ +(macs|sum_bytes): ' wide_machine.yaml | grep -v '"'
done
leadline machines --import zigzag hardware.yaml -o m.yaml --format csv

# A memory that three cores share, of which one does not compute and one has a level inside; what is outside has no words.
cat >sharing.yaml <<'END'
name: sharing
cores: {0: shared/first.yaml, 1: shared/second.yaml, 2: shared/owner.yaml, 3: shared/outside.yaml}
offchip_core_id: 3
core_memory_sharing: [[2, 0, 1]]
core_connectivity: [{type: link, cores: [2, 3], bandwidth: 64}]
END
mkdir shared
sed 's/name: core/name: first/' core.yaml >shared/first.yaml
sed 's/name: core/name: second/; s/  rf:/  vectors:/; s/size: 1_024/size: 65536/; s/served_dimensions: \[\]/served_dimensions: [D1, D2]/; s/operands: \[I2\]/operands: [I1, I2, O]/; s/8, bandwidth_max: 8/8, bandwidth_max: 512/; s/\["I2, tl", "I2, fh"\]/["I1, tl", "I1, fh", "I2, tl", "I2, fh", "O, tl", "O, fh", "O, fl", "O, th"]/; s/Conv, Gemm/Add, Relu/' core.yaml >shared/second.yaml
sed '/  rf: /,/served_dimensions: \[\]/d; /<<:/d; s/size: 8388608/size: 8388608\n    r_cost: 0.1\n    w_cost: 0.1/; s/name: core/name: owner/; s/sizes: .*/sizes: [0, 0]}/; /operator_types/d; s/zigzag.compute/zigzag.memory/' core.yaml >shared/owner.yaml
sed 's/name: owner/name: outside/; s/sram:/main:/; s/8388608/83886080/; s/unit_energy/input_precision: [0, 0], unit_energy/' shared/owner.yaml >shared/outside.yaml
leadline machines --import zigzag sharing.yaml -o shared.yaml >/dev/null
sed -n '/^memory/,/^core_links/p' shared.yaml

# Architectures of Timeloop before 0.2: stores, innermost first, and what multiplies. Half a bandwidth is for reading, half for writing.
cat >oldest.yaml <<'END'
arch:
  arithmetic: {instances: 64, meshX: 8, word-bits: 8}
  storage:
  - {name: Registers, entries: 16, instances: 64, meshX: 8, word-bits: 8, cluster-size: 8, num-ports: 2, num-banks: 8}
  - {name: Columns, entries: 0, instances: 8, meshX: 8, word-bits: 8}
  - {name: Buffer, sizeKB: 256, instances: 1, word-bits: 8, block-size: 64}
  - {name: DRAM, technology: DRAM, instances: 1, word-bits: 8, block-size: 64, bandwidth: 10.0}
mapspace:
  constraints:
  - {target: Buffer, type: datatype, keep: [Weights, Inputs], bypass: [Outputs]}
  - {target: Buffer, type: spatial, factors: P1 Q1 R1 S1 C1 N1, permutation: KCQRSPN}
  - {target: Registers, type: temporal, factors: R1 S1 C1, permutation: PQRSCKN}
problem: {shape: cnn-layer, R: 3, S: 3, P: 48, Q: 48, C: 64, K: 16, N: 1}
END
leadline machines --import timeloop oldest.yaml
sed '/^  storage/,$d' oldest.yaml >wrong.yaml && leadline machines --import timeloop wrong.yaml

# A store of data beside its metadata, one without words, networks, a converter of which no table has the energy, a store
# that is larger than any that is said to be without limit.
cat >tree.yaml <<'END'
architecture:
  version: 0.3
  subtree:
  - name: system
    attributes: {technology: 45nm, datawidth: 16}
    local:
    - {name: DRAM, class: DRAM, attributes: {width: 64}}
    - {name: glb, class: storage, subclass: smartbuffer_metadata, attributes: {data_storage_depth: 12800, data_storage_width: 64}}
    - {name: "Dummy[0..13]", class: storage, attributes: {depth: 0, width: 16, meshX: 14}}
    - {name: rows, class: XY_NoC, attributes: {datawidth: 64}}
    - {name: dac, class: isaac_dac}
    subtree:
    - name: PE[0..167]
      local:
      - {name: spad, class: smartbuffer_RF, attributes: {memory_depth: 192, memory_width: 8, word-bits: 8, meshX: 14}}
      - {name: mac, class: intmac, attributes: {meshX: 14}}
END
leadline machines --import timeloop tree.yaml -o tree_machine.yaml
sed -n '/^units/,/^software/p' tree_machine.yaml
sed 's/data_storage_depth: 12800, data_storage_width: 64/sizeKB: 2147483648/' tree.yaml >large.yaml
leadline machines --import timeloop large.yaml -o large_machine.yaml | head -n 1
grep -E 'name: (glb|DRAM)' large_machine.yaml

# Networks, converters, ports of cells.
cat >converters.yaml <<'END'
architecture:
  version: 0.4
  nodes:
  - {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}
  - {name: Images, class: SRAM, attributes: {depth: 4096, width: 64, datawidth: 8, network_wire_energy: 0.3, network_tile_width: 0.05},
     constraints: {dataspace: {keep_only: [Inputs]}}}
  - {name: dac, class: isaac_dac}
  - {name: Sums, class: SRAM, attributes: {depth: 1024, width: 64, datawidth: 8}, constraints: {dataspace: {keep_only: [Outputs]}}}
  - {name: adc, class: isaac_adc}
  - {name: Cells, class: regfile, attributes: {depth: 128, width: 8, datawidth: 8}, constraints: {dataspace: {keep_only: [Weights]}},
     spatial: {meshX: 128, meshY: 16}}
  - {name: MACC, class: intmac}
END
cat >converters_ert.yaml <<'END'
ERT:
  version: '0.4'
  tables:
    - {name: "System.DRAM[1..1]", actions: [{name: read, energy: 512}, {name: write, energy: 512}]}
    - {name: "System.Images[1..1]", actions: [{name: read, energy: 10}, {name: write, energy: 10}]}
    - {name: "System.dac[1..1]", actions: [{name: drive, energy: 0.417}]}
    - {name: "System.Sums[1..1]", actions: [{name: read, energy: 5}, {name: write, energy: 6}]}
    - {name: "System.adc[1..1]", actions: [{name: convert, energy: 1.667}]}
    - {name: "System.MACC[1..1]", actions: [{name: compute, energy: 0.01}]}
END
leadline machines --import timeloop converters.yaml converters_ert.yaml
sed 's/datawidth: 8}, constraints: {dataspace: {keep_only: \[Outputs/datawidth: 8, n_rdwr_ports: 2, technology: 32nm}, constraints: {dataspace: {keep_only: [Outputs/' converters.yaml >ports.yaml
leadline machines --import timeloop ports.yaml -o ports_machine.yaml
cat ports_machine.yaml
leadline machines ports_machine.yaml --json | grep -E 'node_nm|cell_ports'

# What is no such file.
leadline machines --import zigzag arch.yaml
leadline machines --import zigzag ert.yaml problem.yaml
leadline machines --import timeloop hardware.yaml
leadline machines --import astra-sim network.yml
leadline machines --import stonne arch.yaml
leadline machines --export timeloop zigzag_dimc
leadline machines --export zigzag h100_sxm
leadline machines --export astra-sim dgx_h100
sed 's/size: 16777216/size: large/; s/O, th/O, up/; s/D1, D2/D1, E2/' hardware.yaml >wrong.yaml && leadline machines --import zigzag wrong.yaml
sed 's/meshX: 16/meshX: sixteen/' arch.yaml >wrong.yaml && leadline machines --import timeloop wrong.yaml
sed 's/R=3/R=4/' problem.yaml >wrong.yaml && leadline machines --import timeloop arch.yaml wrong.yaml
sed 's/Ring/Torus/' network.yml >wrong.yml && leadline machines --import astra-sim wrong.yml system.json
sed 's/5: dram.yaml/5: none.yaml/' system.yaml >wrong.yaml && leadline machines --import zigzag wrong.yaml

# What is written is a machine, and none of the files that were read.
try() { rm -f none.yaml && leadline machines --import "$@" -o none.yaml; ls none.yaml 2>/dev/null; }
sed 's/^topology.*/topology: {a: Ring}/' network.yml >wrong.yml && try astra-sim wrong.yml system.json
sed 's/2, 8, 4/2, 8, 4e9/' network.yml >wrong.yml && try astra-sim wrong.yml system.json
sed 's/\["ring.*Doubling"\]/{"a": "ring"}/' system.json >'wrong".json' && try astra-sim network.yml 'wrong".json' | head -n 1
sed 's/900/4000/' system.json >wrong.json && try astra-sim network.yml wrong.json | head -n 1
sed 's/operands: \[I2\]/operands: []/' hardware.yaml >wrong.yaml && try zigzag wrong.yaml
sed 's/depth: 64, width: 8/depth: 1, width: 4/' arch.yaml >wrong.yaml && try timeloop wrong.yaml
sed 's/datawidth: 8/datawidth: 1e15/' arch.yaml >wrong.yaml && try timeloop wrong.yaml
sed 's/R, K, C\]/R, K, K, C]/' problem.yaml >wrong.yaml && try timeloop arch.yaml wrong.yaml
sed 's/5: dram/5: core/; $a core_memory_sharing: [[5, 4]]' system.yaml >wrong.yaml && try zigzag wrong.yaml
sed '$a core_memory_sharing: 0, 1' system.yaml >wrong.yaml && try zigzag wrong.yaml
sed 's/0, 1, 2, 3, 4, 5\]/0, 0]/' system.yaml >wrong.yaml && try zigzag wrong.yaml
leadline machines --import zigzag system.yaml -o core.yaml
