# Machines of other tools become machine files: hardware of ZigZag, with ports in both of its forms, and an architecture
# of Timeloop with the ERT of Accelergy; and what is no such file.
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
leadline machines --import zigzag hardware.yaml
leadline machines --import timeloop arch.yaml ert.yaml -o m.yaml
leadline map -c m.yaml --mapping '@MainMemory C16:D1 @GlobalBuffer C2 K32 R3 @RegisterFile P16' C=32 K=32 R=3 P=16
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
leadline machines --import zigzag arch.yaml
leadline machines --import stonne arch.yaml
