package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reasonFiles declare the reasons in conditions, events and output.
var reasonFiles = []string{"../api/migration/v1alpha1/reasons.go", "../volumes/reason.go"}

// TestReasonsHavePages: each reason has a page of at most 150 words, and each page is of a reason.
func TestReasonsHavePages(t *testing.T) {
	var reasons []string
	for _, file := range reasonFiles {
		reasons = append(reasons, constants(t, file, regexp.MustCompile("^Reason"))...)
	}
	pages, err := filepath.Glob("reasons/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		text := read(t, page)
		if !slices.Contains(reasons, name) || !strings.HasPrefix(text, "# "+name+"\n") {
			t.Errorf("%s: no constant has this value, or the title is another", page)
		}
		if words := len(strings.Fields(text)); words > 150 {
			t.Errorf("%s has %d words, more than 150", page, words)
		}
	}
	for _, reason := range reasons {
		if !slices.Contains(pages, "reasons/"+reason+".md") {
			t.Errorf("docs/reasons/%s.md is missing", reason)
		}
	}
}

// TestConceptsNameEveryAnnotation: the concepts page names everything that is written on users' objects.
func TestConceptsNameEveryAnnotation(t *testing.T) {
	concepts := read(t, "concepts.md")
	for _, key := range constants(t, "../api/migration/v1alpha1/names.go", regexp.MustCompile(`AnnotationKey$|^Finalizer$|^FieldManager$`)) {
		if !strings.Contains(concepts, "`"+key+"`") {
			t.Errorf("concepts.md does not name `%s`", key)
		}
	}
}

// constants returns the values of a file's string constants whose names match.
func constants(t *testing.T, path string, names *regexp.Regexp) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if !names.MatchString(name.Name) || i >= len(spec.Values) {
				continue
			}
			literal, ok := spec.Values[i].(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				t.Errorf("%s: %s is not a plain string", path, name.Name)
				continue
			}
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("%s declares no such constant: the test looks at the wrong place", path)
	}
	return values
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	scheme  = regexp.MustCompile(`^[a-z]+:`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
)

func TestLinksResolve(t *testing.T) {
	var documents []string
	for _, pattern := range []string{"*.md", "*/*.md", "../*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	links := 0
	for _, document := range documents {
		text := code.ReplaceAllString(fence.ReplaceAllString(read(t, document), ""), "")
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if scheme.MatchString(match[1]) {
				continue
			}
			links++
			checkLink(t, document, match[1])
		}
	}
	if links == 0 {
		t.Error("no relative link was found: the test looks at the wrong place")
	}
}

// TestIndexLeadsEverywhere: the first page links to every other, and the page on stalls to every reason.
func TestIndexLeadsEverywhere(t *testing.T) {
	for pattern, index := range map[string]string{"*.md": "README.md", "engineering/*.md": "README.md", "reasons/*.md": "stalls.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		text := read(t, index)
		for _, page := range pages {
			if page != index && !strings.Contains(text, "]("+page+")") {
				t.Errorf("docs/%s does not lead to %s", index, page)
			}
		}
	}
}

// checkLink checks that the file of a relative link, and its heading, exist.
func checkLink(t *testing.T, document, target string) {
	t.Helper()
	path, anchor, _ := strings.Cut(target, "#")
	path = filepath.Join(filepath.Dir(document), filepath.FromSlash(path))
	if strings.HasPrefix(target, "#") {
		path = document
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("%s: the link %q leads nowhere: %v", document, target, err)
		return
	}
	if anchor != "" && !slices.Contains(anchors(t, path), anchor) {
		t.Errorf("%s: the link %q leads to no heading", document, target)
	}
}

// anchors returns the names that GitHub gives the headings of a document.
func anchors(t *testing.T, path string) []string {
	t.Helper()
	var names []string
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(read(t, path), ""), -1) {
		names = append(names, anchorOf(match[1]))
	}
	return names
}

// anchorOf returns the name that GitHub gives a heading.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
			return r
		}
		return -1
	}, strings.ToLower(heading))
}

// TestNamedTestsExist: every test that the page of safety names exists.
func TestNamedTestsExist(t *testing.T) {
	const page = "engineering/safety.md"
	named := regexp.MustCompile(`\bTest[A-Z]\w*`).FindAllString(read(t, page), -1)
	if len(named) == 0 {
		t.Fatal(page + " names no test")
	}
	declared := declaredTests(t)
	for _, name := range named {
		if !slices.Contains(declared, name) {
			t.Errorf("%s names %s, which does not exist", page, name)
		}
	}
}

func declaredTests(t *testing.T) []string {
	t.Helper()
	declaration := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	var names []string
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "out" || entry.Name() == "bin" || entry.Name() == ".git"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		for _, match := range declaration.FindAllStringSubmatch(read(t, path), -1) {
			names = append(names, match[1])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
