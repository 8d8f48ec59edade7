# SPDX-License-Identifier: Apache-2.0
class Leadline < Formula
  desc "Trace-driven architectural simulation of deep learning"
  url "file://#{File.expand_path("../..", __dir__)}", using: :git
  version "0.2.0"
  license "Apache-2.0"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkg-config" => :build
  depends_on "elfutils"
  depends_on "librsvg"
  depends_on "libyaml"
  depends_on :linux
  depends_on "openblas"
  depends_on "sqlite"
  depends_on "zlib"
  depends_on "zstd"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DLL_TESTS=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match "custom_example", shell_output("#{bin}/leadline machines")
  end
end
