// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/terminal/line_editor.hpp"

#ifdef TRACESMITH_LIBEDIT
#include <histedit.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tracesmith/export/text/terminal_table.hpp"
#endif

namespace tracesmith::cli {

#ifdef TRACESMITH_LIBEDIT
namespace {

constexpr int kHistorySize = 1000;
constexpr size_t kMostListed = 120;

/// Set by Ctrl-C, which must not end the shell.
volatile std::sig_atomic_t interrupted = 0;

/// The longest start that all words have.
std::string commonStart(const std::vector<std::string>& words) {
  std::string common = words.front();
  for (const std::string& word : words) {
    const auto differs = std::mismatch(common.begin(), common.end(), word.begin(), word.end());
    common.erase(differs.first, common.end());
  }
  return common;
}

/// Rows of equally wide columns, as a shell lists completions: sorted downwards.
std::string listed(const std::vector<std::string>& words, int terminal_width) {
  const size_t shown = std::min(words.size(), kMostListed);
  size_t widest = 0;
  for (size_t i = 0; i < shown; ++i) widest = std::max(widest, words[i].size());
  const size_t columns =
      std::max<size_t>(1, static_cast<size_t>(std::max(terminal_width, 1)) / (widest + 2));
  const size_t rows = (shown + columns - 1) / columns;
  std::string text = "\n";
  for (size_t row = 0; row < rows; ++row) {
    std::string line;
    for (size_t i = row; i < shown; i += rows) {
      line.resize((i / rows) * (widest + 2), ' ');
      line += words[i];
    }
    text += line + "\n";
  }
  if (shown < words.size()) {
    text += "and " + std::to_string(words.size() - shown) + " more\n";
  }
  return text;
}

class LibeditReader : public LineReader {
 public:
  LibeditReader(LineHistory kept, Completer completer, Output& out)
      : kept_(std::move(kept)), completer_(std::move(completer)), out_(out) {}

  ~LibeditReader() override {
    if (editor_ != nullptr) el_end(editor_);
    if (history_ != nullptr) history_end(history_);
    std::signal(SIGINT, SIG_DFL);
  }
  LibeditReader(const LibeditReader&) = delete;
  LibeditReader& operator=(const LibeditReader&) = delete;

  bool open() {
    std::setlocale(LC_CTYPE, "");  // libedit decodes what is typed by it
    editor_ = el_init("tracesmith", stdin, stdout, stderr);
    history_ = history_init();
    if (editor_ == nullptr || history_ == nullptr) return false;
    std::signal(SIGINT, [](int) { interrupted = 1; });
    el_set(editor_, EL_CLIENTDATA, this);
    el_set(editor_, EL_PROMPT, &LibeditReader::promptOf);
    el_set(editor_, EL_SIGNAL, 1);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_HIST, history, history_);
    el_source(editor_, nullptr);  // the person's ~/.editrc
    bindKeys();
    HistEvent event;
    history(history_, &event, H_SETSIZE, kHistorySize);
    history(history_, &event, H_SETUNIQUE, 1);
    for (const std::string& entry : kept_.load()) {
      history(history_, &event, H_ENTER, entry.c_str());
    }
    return true;
  }

  Answer read(const char* prompt, std::string& line) override {
    (void)out_.flush();  // libedit writes to the terminal itself
    prompt_ = prompt;
    interrupted = 0;
    cancelled_ = false;
    prepareTerminal();
    int length = 0;
    const char* text = el_gets(editor_, &length);
    if (cancelled_) return Answer::kCancelled;
    if (text == nullptr || length <= 0) {
      const bool cancelled =
          interrupted != 0;  // el_gets() gives up on a line when a signal arrives
      std::fputs(cancelled ? "^C\n" : "\n", stdout);
      std::fflush(stdout);
      return cancelled ? Answer::kCancelled : Answer::kEnd;
    }
    line.assign(text, static_cast<size_t>(length));
    if (line.back() == '\n') line.pop_back();
    return Answer::kLine;
  }

  void remember(const std::string& entry) override {
    HistEvent event;
    history(history_, &event, H_ENTER, entry.c_str());
    kept_.append(entry);
  }

 private:
  static LibeditReader& of(EditLine* editor) {
    LibeditReader* reader = nullptr;
    el_get(editor, EL_CLIENTDATA, &reader);
    return *reader;
  }
  static char* promptOf(EditLine* editor) { return of(editor).prompt_.data(); }
  static unsigned char onComplete(EditLine* editor, int) { return of(editor).complete(); }

  static unsigned char onCancel(EditLine* editor, int) { return of(editor).cancel(); }

  void bindKeys() {
    el_set(editor_, EL_ADDFN, "tracesmith-cancel", "Clear the line", &LibeditReader::onCancel);
    el_set(editor_, EL_BIND, "^C", "tracesmith-cancel", nullptr);
    el_set(editor_, EL_ADDFN, "tracesmith-complete", "Complete the word",
           &LibeditReader::onComplete);
    el_set(editor_, EL_BIND, "^I", "tracesmith-complete", nullptr);
    el_set(editor_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_set(editor_, EL_BIND, "\033[1;5D", "ed-prev-word", nullptr);  // Ctrl-Left
    el_set(editor_, EL_BIND, "\033[1;5C", "em-next-word", nullptr);  // Ctrl-Right
  }

  /// Before the prompt is shown, so that a key pressed at once is a key as well: el_gets() would
  /// set the terminal's mode afterwards. It ends this mode. Ctrl-C is a key, because a signal just
  /// before read(2) would not end it; after Ctrl-Z, libedit makes it a signal again.
  void prepareTerminal() {
    el_set(editor_, EL_PREP_TERM, 1);
    termios settings{};
    if (tcgetattr(STDIN_FILENO, &settings) != 0) return;
    settings.c_cc[VINTR] = _POSIX_VDISABLE;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &settings);
  }

  /// Ends the line as Enter does, so that what was typed stays on the screen.
  unsigned char cancel() {
    cancelled_ = true;
    const LineInfo* info = el_line(editor_);
    el_cursor(editor_, static_cast<int>(info->lastchar - info->cursor));
    el_insertstr(editor_, "^C");
    el_push(editor_, "\n");
    return CC_REFRESH;
  }

  unsigned char complete() {
    const LineInfo* info = el_line(editor_);
    const std::string_view before(info->buffer, static_cast<size_t>(info->cursor - info->buffer));
    const std::string_view after(info->cursor, static_cast<size_t>(info->lastchar - info->cursor));
    const Completion found = completer_(before, after);
    if (found.words.empty()) return CC_ERROR;
    std::string common = commonStart(found.words);
    const bool longer = common.size() > found.typed_bytes;
    if (common.size() >= found.typed_bytes) {
      const bool ends = found.ends_with_space && !after.starts_with(' ');
      if (found.words.size() == 1 && ends) common += ' ';
      el_deletestr(editor_, static_cast<int>(found.typed_bytes));
      el_insertstr(editor_, common.c_str());
    }
    if (longer || found.words.size() == 1) return CC_REFRESH;
    int columns = 80;
    el_get(editor_, EL_GETTC, "co", &columns);
    std::fputs(listed(found.words, columns).c_str(), stdout);
    return CC_REDISPLAY;
  }

  LineHistory kept_;
  Completer completer_;
  Output& out_;
  EditLine* editor_ = nullptr;
  History* history_ = nullptr;
  std::string prompt_;
  bool cancelled_ = false;
};

}  // namespace

bool hasLineEditor() { return true; }

std::unique_ptr<LineReader> openLineEditor(LineHistory history, Completer completer, Output& out) {
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return nullptr;
  auto reader = std::make_unique<LibeditReader>(std::move(history), std::move(completer), out);
  if (!reader->open()) return nullptr;
  return reader;
}

#else

bool hasLineEditor() { return false; }

std::unique_ptr<LineReader> openLineEditor(LineHistory, Completer, Output&) { return nullptr; }

#endif

}  // namespace tracesmith::cli
