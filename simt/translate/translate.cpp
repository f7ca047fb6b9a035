// SPDX-License-Identifier: Apache-2.0
// warpfold-translate IN OUT: a CUDA program, preprocessed with simt's headers, becomes C++ that any host compiler takes.
// clang's parser finds the kernels and their launches; the text is changed nowhere else, and no line moves:
//
//   template <class T> __global__ void k(T* x, int n = 1) { … }      behind it, on the line where it ends:
//       template <class T> void k_by_simt(const configuration& c, T* x, int n = 1) { launch<T*, int>(c, &k<T>, x, n); }
//   k<float><<<grid, block>>>(x)      k_by_simt<float>(configuration(grid, block), x)
//   pointer<<<grid, block>>>(x)       by_pointer(pointer)(configuration(grid, block), x)
//   (void*)k                          (void*)known(k)
//
//   asm("…;" …)                       a call that fails the launch which comes to it, since simt runs no PTX
//
// So nvcc does it too: overloads, deduced and default arguments are left to the compiler. Standard output names the
// arrays `extern __shared__`, a line each.
#include <clang-c/Index.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::string text_of(CXString s) {
  const char* c = clang_getCString(s);
  std::string text = c != nullptr ? c : "";
  clang_disposeString(s);
  return text;
}

/// In the file as it lies here, whatever its line markers say.
struct span {
  std::size_t from = 0, to = 0;
};
std::size_t offset_of(CXSourceLocation where) {
  unsigned offset = 0;
  clang_getFileLocation(where, nullptr, nullptr, nullptr, &offset);
  return offset;
}
span span_of(CXCursor c) {
  const CXSourceRange r = clang_getCursorExtent(c);
  return {offset_of(clang_getRangeStart(r)), offset_of(clang_getRangeEnd(r))};
}

std::vector<CXCursor> children_of(CXCursor c) {
  std::vector<CXCursor> all;
  clang_visitChildren(
      c,
      [](CXCursor child, CXCursor, CXClientData to) {
        static_cast<std::vector<CXCursor>*>(to)->push_back(child);
        return CXChildVisit_Continue;
      },
      &all);
  return all;
}

/// As a person knows the place.
std::string place_of(CXSourceLocation where) {
  CXString file;
  unsigned line = 0;
  clang_getPresumedLocation(where, &file, &line, nullptr);
  return text_of(file) + ":" + std::to_string(line);
}

[[noreturn]] void refuse(CXCursor at, const std::string& why) {
  std::fprintf(stderr, "%s: error: %s\n", place_of(clang_getCursorLocation(at)).c_str(), why.c_str());
  std::exit(1);
}

constexpr const char* suffix = "_by_simt";
constexpr const char* names = "::simt::launching::";

class translation {
 public:
  translation(CXTranslationUnit unit, std::string text) : unit_(unit), text_(std::move(text)) {}

  void see_all() {
    for (const CXCursor& c : children_of(clang_getTranslationUnitCursor(unit_)))
      if (clang_Location_isInSystemHeader(clang_getCursorLocation(c)) == 0) see(c);
  }

  std::string result() {
    std::stable_sort(edits_.begin(), edits_.end(), [](const edit& a, const edit& b) { return a.where.from < b.where.from; });
    std::string all;
    std::size_t at = 0;
    for (const edit& e : edits_) {
      if (e.where.from < at) continue;
      all += text_.substr(at, e.where.from - at) + e.text;
      at = e.where.to;
    }
    return all + text_.substr(at) + unnamed_;
  }

  const std::set<std::string>& shared() const { return shared_; }

 private:
  struct edit {
    span where;
    std::string text;
  };
  void insert(std::size_t at, const std::string& text) { edits_.push_back({{at, at}, text}); }

  void see(const CXCursor& c) {
    const CXCursorKind kind = clang_getCursorKind(c);
    const std::vector<CXCursor> children = children_of(c);
    if (kind == CXCursor_FunctionDecl || kind == CXCursor_FunctionTemplate) see_function(c, children);
    else if (kind == CXCursor_CallExpr) see_call(c, children);
    else if (kind == CXCursor_VarDecl) see_variable(c);
    else if (kind == CXCursor_CStyleCastExpr || kind == CXCursor_CXXReinterpretCastExpr || kind == CXCursor_CXXStaticCastExpr)
      see_cast(c, children);
    for (const CXCursor& child : children) see(child);
  }

  static bool is_kernel(const std::vector<CXCursor>& children) {
    return std::any_of(children.begin(), children.end(), [](const CXCursor& c) { return clang_getCursorKind(c) == CXCursor_CUDAGlobalAttr; });
  }

  /// A function of the kernel's own template and parameters stands behind its first declaration.
  void see_function(const CXCursor& c, const std::vector<CXCursor>& children) {
    if (!is_kernel(children)) return;
    const std::string name = text_of(clang_getCursorSpelling(c)), bare = name.substr(0, name.find('<'));
    const CXCursor first = clang_getCanonicalCursor(c);
    if (clang_equalCursors(first, c) == 0) return;
    if (clang_Cursor_isNull(clang_getSpecializedCursorTemplate(c)) == 0) return;  // its template has one already
    std::string head, arguments, parameters, types, values;
    std::size_t head_end = 0;
    int count = 0;
    for (const CXCursor& child : children) {
      const CXCursorKind kind = clang_getCursorKind(child);
      std::string own = text_of(clang_getCursorSpelling(child));
      const span where = span_of(child);
      std::string written = text_.substr(where.from, where.to - where.from);
      const bool is_pack = written.find("...") != std::string::npos;
      if (kind == CXCursor_TemplateTypeParameter || kind == CXCursor_NonTypeTemplateParameter || kind == CXCursor_TemplateTemplateParameter) {
        if (own.empty()) refuse(child, "a template parameter of the kernel " + bare + " has no name: give it one");
        arguments += (arguments.empty() ? "" : ", ") + own + (is_pack ? "..." : "");
        head_end = where.to;
      } else if (kind == CXCursor_ParmDecl) {
        if (own.empty()) {
          if (written.find_first_of("[(") != std::string::npos) refuse(child, "a parameter of the kernel " + bare + " has no name: give it one");
          own = "simt_" + std::to_string(count);
          const auto equal = written.find('=');
          written = equal == std::string::npos ? written + " " + own : written.substr(0, equal) + " " + own + " " + written.substr(equal);
        }
        ++count;
        parameters += ", " + written;
        types += (types.empty() ? "" : ", ") + ("std::remove_cv_t<decltype(" + own + ")>") + (is_pack ? "..." : "");
        values += ", " + own + (is_pack ? "..." : "");
      }
    }
    if (head_end != 0) {
      const std::size_t from = span_of(c).from;
      const std::size_t close = text_.find('>', head_end);
      if (close == std::string::npos) refuse(c, "the template of the kernel " + bare + " is not understood");
      head = text_.substr(from, close + 1 - from) + " ";
      std::replace(head.begin(), head.end(), '\n', ' ');
    }
    std::replace(parameters.begin(), parameters.end(), '\n', ' ');
    const std::string kernel = "&" + bare + (arguments.empty() ? "" : "<" + arguments + ">");
    const std::string configuration = std::string("const ") + names + "configuration& simt_c";
    std::size_t end = span_of(c).to;
    if (text_[end - 1] != '}') end = text_.find(';', end) + 1;
    insert(end, " " + head + "inline __attribute__((unused)) void " + bare + suffix + "(" + configuration + parameters + ") { " + names +
                    "launch" + (types.empty() ? "<>" : "<" + types + ">") + "(simt_c, " + kernel + values + "); }");
  }

  std::size_t behind_space(std::size_t at) const {
    while (at < text_.size() && std::isspace(static_cast<unsigned char>(text_[at])) != 0) ++at;
    return at;
  }
  bool is_at(std::size_t at, std::string_view what) const { return text_.compare(at, what.size(), what) == 0; }

  /// Behind the `>>>` of the `<<<` at `open`; clang says where the words are.
  span closing_of(const CXCursor& call, std::size_t open) const {
    const CXFile file = clang_getFile(unit_, text_of(clang_getTranslationUnitSpelling(unit_)).c_str());
    const CXSourceRange range = clang_getRange(clang_getLocationForOffset(unit_, file, static_cast<unsigned>(open + 3)),
                                               clang_getLocationForOffset(unit_, file, static_cast<unsigned>(span_of(call).to)));
    CXToken* tokens = nullptr;
    unsigned count = 0;
    clang_tokenize(unit_, range, &tokens, &count);
    int depth = 0;
    span found;
    for (unsigned k = 0; k < count && found.to == 0; ++k) {
      const std::string word = text_of(clang_getTokenSpelling(unit_, tokens[k]));
      const std::size_t at = offset_of(clang_getTokenLocation(unit_, tokens[k]));
      if (word == "(" || word == "[" || word == "{") ++depth;
      else if (word == ")" || word == "]" || word == "}") --depth;
      else if (depth == 0 && word == ">>>" && is_at(behind_space(at + 3), "(")) found = {at, at + 3};
    }
    clang_disposeTokens(unit_, tokens, count);
    return found;
  }

  void see_call(const CXCursor& c, const std::vector<CXCursor>& children) {
    if (children.empty()) return;
    const span callee = span_of(children.front());
    const std::size_t open = behind_space(callee.to);
    if (callee.from != span_of(c).from || !is_at(open, "<<<")) return;
    const span close = closing_of(c, open);
    if (close.to == 0) refuse(c, "a launch <<<…>>> that is not understood");
    const std::size_t parenthesis = behind_space(close.to);
    const bool has_none = is_at(behind_space(parenthesis + 1), ")");
    if (const std::size_t name = end_of_kernel_name(children.front()); name != 0) {
      insert(name, suffix);
    } else {
      insert(callee.from, std::string(names) + "by_pointer(");
      insert(callee.to, ")");
    }
    edits_.push_back({{open, open + 3}, std::string("(") + names + "configuration("});
    edits_.push_back({{close.from, parenthesis + 1}, has_none ? ")" : "), "});
  }

  /// Behind the name of `ns::k<float>`; 0 for an expression that gives a pointer.
  std::size_t end_of_kernel_name(CXCursor c) const {
    for (;;) {
      const CXCursorKind kind = clang_getCursorKind(c);
      if (kind == CXCursor_DeclRefExpr || kind == CXCursor_OverloadedDeclRef) break;
      const std::vector<CXCursor> children = children_of(c);
      if (kind != CXCursor_UnexposedExpr || children.size() != 1) return 0;
      c = children.front();
    }
    const CXCursorKind what = clang_getCursorKind(clang_getCursorReferenced(c));
    if (what != CXCursor_FunctionDecl && what != CXCursor_FunctionTemplate && what != CXCursor_OverloadedDeclRef) return 0;
    std::size_t at = offset_of(clang_getCursorLocation(c));  // where the name is, behind its scope
    while (at < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at])) != 0 || text_[at] == '_')) ++at;
    return at;
  }

  void see_cast(const CXCursor& c, const std::vector<CXCursor>& children) {
    const CXType to = clang_getPointeeType(clang_getCanonicalType(clang_getCursorType(c)));
    if (to.kind != CXType_Void || children.empty()) return;
    CXCursor from = children.back();
    while (clang_getCursorKind(from) == CXCursor_UnexposedExpr && children_of(from).size() == 1) from = children_of(from).front();
    if (clang_getCursorKind(from) == CXCursor_UnaryOperator && children_of(from).size() == 1) from = children_of(from).front();
    if (clang_getCursorKind(from) != CXCursor_DeclRefExpr) return;
    const CXCursor kernel = clang_getCursorReferenced(from);
    const bool is_instance = clang_Cursor_isNull(clang_getSpecializedCursorTemplate(kernel)) == 0;
    if (clang_getCursorKind(kernel) == CXCursor_FunctionDecl &&
        (is_kernel(children_of(kernel)) || (is_instance && is_kernel(children_of(clang_getSpecializedCursorTemplate(kernel))))))
      wrap(span_of(from));
    else if (clang_getCursorKind(kernel) == CXCursor_OverloadedDeclRef && clang_getNumOverloadedDecls(kernel) > 0 &&
             is_kernel(children_of(clang_getOverloadedDecl(kernel, 0))))
      wrap(span_of(from));
  }
  void wrap(span where) {
    insert(where.from, std::string(names) + "known(");
    insert(where.to, ")");
  }

  void see_variable(const CXCursor& c) {
    if (clang_Cursor_getStorageClass(c) != CX_SC_Extern || clang_getCursorTLSKind(c) == CXTLS_None) return;
    if (clang_getCursorType(c).kind != CXType_IncompleteArray) return;
    std::string scope;
    bool is_unnamed = false;
    for (CXCursor p = clang_getCursorSemanticParent(c); clang_Cursor_isNull(p) == 0 && clang_isTranslationUnit(clang_getCursorKind(p)) == 0;
         p = clang_getCursorSemanticParent(p)) {
      if (clang_getCursorKind(p) != CXCursor_Namespace) continue;
      const std::string name = text_of(clang_getCursorSpelling(p));
      is_unnamed |= name.empty() || name.find("anonymous") != std::string::npos;
      scope = name + "::" + scope;
    }
    const std::string name = text_of(clang_getCursorSpelling(c));
    if (is_unnamed) refuse(c, "extern __shared__ " + name + " in a namespace without a name, where it cannot be defined for you: name the namespace");
    shared_.insert(scope + name);
  }

  CXTranslationUnit unit_;
  std::string text_, unnamed_;
  std::vector<edit> edits_;
  std::set<std::string> shared_;
};

/// The text of a preprocessed program, `# LINE "FILE" FLAGS` at the begin of a line: 3 is the flag of a system's header.
class without_ptx {
 public:
  explicit without_ptx(std::string text) : text_(std::move(text)) {}

  /// Statements `asm("… ;" …)` of the program's own files become calls; all of PTX ends with a semicolon, assembler labels have none.
  std::string result() {
    while (at_ < text_.size()) step();
    return std::move(text_);
  }

 private:
  bool is_word(char c) const { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  void step() {
    const char c = text_[at_];
    const bool begins_line = at_ == 0 || text_[at_ - 1] == '\n';
    if (begins_line && c == '#') return see_marker();
    if (is_word(c)) return see_word();
    if (c == '"' || c == '\'') at_ = end_of_literal(at_);
    else ++at_;
  }
  void see_marker() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size()), quote = text_.rfind('"', end);
    if (quote != text_.npos && quote > at_) is_systems_ = text_.substr(quote, end - quote).find(" 3") != std::string::npos;
    at_ = end;
  }
  void see_word() {
    const std::size_t from = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string_view word = std::string_view(text_).substr(from, at_ - from);
    if (at_ < text_.size() && text_[at_] == '"' && word.back() == 'R') return skip_raw();
    if (is_systems_ || (word != "asm" && word != "__asm__" && word != "__asm")) return;
    std::size_t open = at_;
    while (open < text_.size() && (std::isspace(static_cast<unsigned char>(text_[open])) != 0 || is_word(text_[open]))) ++open;  // volatile
    if (open == text_.size() || text_[open] != '(') return;
    bool has_semicolon = false;
    int depth = 0;
    std::size_t k = open;
    do {
      if (text_[k] == '"') {
        const std::size_t end = end_of_literal(k);
        has_semicolon |= text_.substr(k, end - k).find(';') != std::string::npos;
        k = end;
        continue;
      }
      depth += text_[k] == '(' ? 1 : text_[k] == ')' ? -1 : 0;
      ++k;
    } while (depth > 0 && k < text_.size());
    if (depth != 0 || !has_semicolon) return;
    std::string call = std::string(names) + "inline_ptx()";
    for (std::size_t n = from; n < k; ++n)
      if (text_[n] == '\n') call += '\n';  // no line moves
    text_.replace(from, k - from, call);
    at_ = from + call.size();
  }
  std::size_t end_of_literal(std::size_t from) const {
    const char quote = text_[from];
    std::size_t k = from + 1;
    while (k < text_.size() && text_[k] != quote && text_[k] != '\n') k += text_[k] == '\\' ? 2 : 1;
    return std::min(k + 1, text_.size());
  }
  void skip_raw() {
    const std::size_t open = text_.find('(', at_);
    const std::string close = ")" + text_.substr(at_ + 1, open - at_ - 1) + "\"";
    const std::size_t end = text_.find(close, open);
    at_ = end == text_.npos ? text_.size() : end + close.size();
  }

  std::string text_;
  std::size_t at_ = 0;
  bool is_systems_ = false;
};

/// False if the parser found an error; the first is told.
bool is_clean(CXTranslationUnit unit) {
  const unsigned count = clang_getNumDiagnostics(unit);
  bool clean = true;
  for (unsigned k = 0; k < count; ++k) {
    const CXDiagnostic d = clang_getDiagnostic(unit, k);
    // All functions are declared to be of both sides, which a second declaration of a kernel cannot be.
    const bool is_ours = text_of(clang_getDiagnosticSpelling(d)).find("attributes are not compatible") != std::string::npos;
    if (clang_getDiagnosticSeverity(d) >= CXDiagnostic_Error && !is_ours) {
      std::fprintf(stderr, "%s: error: %s\n", place_of(clang_getDiagnosticLocation(d)).c_str(), text_of(clang_getDiagnosticSpelling(d)).c_str());
      clean = false;
    }
    clang_disposeDiagnostic(d);
  }
  return clean;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: warpfold-translate IN OUT\n", stderr);
    return 2;
  }
  const char* const options[] = {"-x", "cuda-cpp-output", "--cuda-host-only", "-nocudainc", "-nocudalib", "-std=c++20", "-w",
                                 "-Xclang", "-fcuda-allow-variadic-functions"};
  std::ifstream in(argv[1], std::ios::binary);
  const std::string text = without_ptx(std::string(std::istreambuf_iterator<char>(in), {})).result();
  CXUnsavedFile file{argv[1], text.data(), text.size()};
  const CXIndex index = clang_createIndex(0, 0);
  CXTranslationUnit unit = nullptr;
  if (clang_parseTranslationUnit2(index, argv[1], options, static_cast<int>(std::size(options)), &file, 1, CXTranslationUnit_None, &unit) !=
      CXError_Success) {
    std::fprintf(stderr, "warpfold-translate: %s cannot be parsed\n", argv[1]);
    return 2;
  }
  if (!is_clean(unit)) return 1;
  translation t(unit, text);
  t.see_all();
  std::ofstream out(argv[2], std::ios::binary);
  out << t.result();
  out.close();
  if (!out) {
    std::fprintf(stderr, "warpfold-translate: %s cannot be written\n", argv[2]);
    return 2;
  }
  for (const std::string& s : t.shared()) std::printf("%s\n", s.c_str());
  clang_disposeTranslationUnit(unit);
  clang_disposeIndex(index);
}
