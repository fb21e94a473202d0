# SPDX-License-Identifier: Apache-2.0
# Does what `brew install` and `brew test` do with a formula, where there is no Homebrew: checks the sum, unpacks,
# installs into a folder and runs the formula's test. Usage: ruby try_formula.rb FORMULA FOLDER
require "digest"
require "fileutils"
require "pathname"

class Pathname
  def install(files) = FileUtils.mkdir_p(self) && FileUtils.cp_r(files, self, preserve: true)
end

class Formula
  class << self
    attr_reader :source, :sum, :tried

    %i[desc homepage license depends_on].each { |name| define_method(name) { |*| nil } }
    def on_intel = RUBY_PLATFORM.start_with?("x86_64") && yield
    def on_arm = RUBY_PLATFORM.start_with?("aarch64") && yield
    def url(text) = @source = text
    def sha256(text) = @sum = text
    def test(&block) = @tried = block
  end

  attr_reader :prefix

  def initialize(prefix) = @prefix = Pathname(prefix)
  def bin = prefix / "bin"
  def version = self.class.source[/-(\d+(\.\d+)+)-/, 1]
  def shell_output(command) = `#{command}`.tap { raise command unless $?.success? }

  def assert_match(expected, text)
    raise "#{text.inspect} has no #{expected}" unless text.include?(expected)
  end
end

formula, folder = ARGV.map { |path| File.expand_path(path) }
load formula
archive = Tracesmith.source.delete_prefix("file://")
sum = Digest::SHA256.file(archive).hexdigest
raise "the sum of #{archive} is #{sum}" unless sum == Tracesmith.sum

FileUtils.rm_rf(folder)
FileUtils.mkdir_p("#{folder}/unpacked")
system("tar", "-C", "#{folder}/unpacked", "--strip-components=1", "-xf", archive, exception: true)
tool = Tracesmith.new("#{folder}/Cellar/tracesmith/1")
Dir.chdir("#{folder}/unpacked") { tool.install }
tool.instance_eval(&Tracesmith.tried)
# As Homebrew links it.
FileUtils.mkdir_p("#{folder}/bin")
FileUtils.ln_s(tool.bin / "tracesmith", "#{folder}/bin/tracesmith")
puts tool.shell_output("#{folder}/bin/tracesmith devices")
