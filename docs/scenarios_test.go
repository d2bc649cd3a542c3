package docs

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write scenarios.md")

// scenario is a row of scenarios.yaml; its fields are told there.
type scenario struct {
	ID      string `json:"id"`
	Tier    string `json:"tier"`
	Star    bool   `json:"star,omitempty"`
	Title   string `json:"title"`
	State   string `json:"state,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Kubelet string `json:"kubelet,omitempty"`
}

// The states of a scenario that no test is expected to name.
const (
	stateOpen = "open"
	stateNone = "none"
)

// withPods says whether real pods run in a scenario.
func (s scenario) withPods() bool { return s.Tier == "N" || s.Tier == "2" }

// TestScenarios: every scenario has a test, or is said to have none. With -update it
// writes scenarios.md, the list of scenarios and their tests.
func TestScenarios(t *testing.T) {
	scenarios := readScenarios(t)
	tests := testsByScenario(t)
	open := 0
	for _, each := range scenarios {
		found := len(tests[each.ID]) > 0
		switch {
		case each.State == "" && !found:
			t.Errorf("no test names %s (%s): write one, or give it a state in scenarios.yaml", each.ID, each.Title)
		case each.State == stateOpen && !found:
			open++
		case each.State == stateOpen:
			t.Logf("%s is tested by now: take its state out of scenarios.yaml", each.ID)
		case each.State == stateNone && each.Reason == "":
			t.Errorf("%s has no test and no reason: give it one in scenarios.yaml", each.ID)
		case each.State == "" && each.withPods() && each.Kubelet == "" && !strings.Contains(strings.Join(tests[each.ID], " "), "kind"):
			t.Errorf("no test on kind names %s (%s): write one, or say in scenarios.yaml what is not shown without", each.ID, each.Title)
		case each.State != "" && each.State != stateNone:
			t.Errorf("%s has the unknown state %q", each.ID, each.State)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(tests)) {
		if !slices.ContainsFunc(scenarios, func(s scenario) bool { return s.ID == id }) {
			t.Errorf("%v names %s, which scenarios.yaml does not have: add it there", tests[id], id)
		}
	}
	t.Logf("%d scenarios, %d of them open", len(scenarios), open)
	if *update {
		if err := os.WriteFile("scenarios.md", render(scenarios, tests), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func readScenarios(t *testing.T) []scenario {
	t.Helper()
	var scenarios []scenario
	if err := yaml.UnmarshalStrict([]byte(read(t, "scenarios.yaml")), &scenarios); err != nil {
		t.Fatal(err)
	}
	if len(scenarios) == 0 {
		t.Fatal("scenarios.yaml is empty")
	}
	for i, each := range scenarios[1:] {
		if slices.ContainsFunc(scenarios[:i+1], func(s scenario) bool { return s.ID == each.ID }) {
			t.Errorf("scenarios.yaml has %s twice", each.ID)
		}
	}
	return scenarios
}

var scenarioID = regexp.MustCompile(`\b[KRDS]-\d{3}\b`)

// testsByScenario finds the ids that tests name, and where: a test function with its
// comment, or else the file.
func testsByScenario(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "out" || entry.Name() == "bin" || entry.Name() == "docs" || entry.Name() == ".git"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		return addTests(found, path)
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func addTests(found map[string][]string, path string) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	matches := scenarioID.FindAllIndex(source, -1)
	if len(matches) == 0 {
		return nil
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
	for _, match := range matches {
		where := folder + "/" + filepath.Base(path)
		for _, declaration := range parsed.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if ok && strings.HasPrefix(function.Name.Name, "Test") && holds(files, function, match[0]) {
				where = folder + " " + function.Name.Name
				if onKind(filepath.Dir(path), function.Name.Name) {
					where += " (and on kind)"
				}
			}
		}
		id := string(source[match[0]:match[1]])
		if !slices.Contains(found[id], where) {
			found[id] = append(found[id], where)
		}
	}
	return nil
}

// onKind says whether a test runs again between kind clusters: its folder's list names it.
func onKind(folder, test string) bool {
	source, err := os.ReadFile(filepath.Join(folder, "cases_test.go"))
	_, list, found := strings.Cut(string(source), "var onKind = []string{")
	list, _, closed := strings.Cut(list, "\n}")
	return err == nil && found && closed && strings.Contains(list, `"`+test+`"`)
}

// holds says whether a byte of the file belongs to the function or its comment.
func holds(files *token.FileSet, function *ast.FuncDecl, offset int) bool {
	begin := function.Pos()
	if function.Doc != nil {
		begin = function.Doc.Pos()
	}
	return files.Position(begin).Offset <= offset && offset < files.Position(function.End()).Offset
}

// render is scenarios.md.
func render(scenarios []scenario, tests map[string][]string) []byte {
	var page bytes.Buffer
	page.WriteString(`# What peers test of a StatefulSet, and our tests of it

Generated from scenarios.yaml, which says what the columns mean, and the tests that name
an id: ` + "`make generate`" + `. A star is what bears on slices most.

| id | tier | scenario | tests |
|---|---|---|---|
`)
	for _, each := range scenarios {
		star := ""
		if each.Star {
			star = " ★"
		}
		fmt.Fprintf(&page, "| %s%s | %s | %s | %s |\n", each.ID, star, each.Tier, cell(each.Title), cell(where(each, tests[each.ID])))
	}
	return page.Bytes()
}

func where(each scenario, tests []string) string {
	text := strings.Join(tests, ", ")
	switch {
	case len(tests) > 0:
	case each.State == stateNone:
		text = "none: " + each.Reason
	default:
		text = "open"
	}
	if each.Kubelet != "" {
		text += " (without a real kubelet, what is not shown: " + each.Kubelet + ")"
	}
	return text
}

func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
