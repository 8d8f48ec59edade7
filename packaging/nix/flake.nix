# SPDX-License-Identifier: Apache-2.0
{
  description = "Trace-driven architectural simulation of deep learning";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-24.05";
  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in {
      packages = each (pkgs: {
        default = pkgs.stdenv.mkDerivation {
          pname = "leadline";
          version = "0.2.0";
          src = ../..;
          nativeBuildInputs = [ pkgs.cmake pkgs.ninja pkgs.pkg-config ];
          buildInputs = [ pkgs.openblas pkgs.zstd pkgs.elfutils pkgs.libyaml pkgs.sqlite pkgs.zlib pkgs.librsvg ];
          cmakeFlags = [ "-DLL_TESTS=OFF" ];
        };
      });
    };
}
