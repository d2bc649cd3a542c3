package docs

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the generated pages, and the alerts for the Prometheus Operator")

// scenario is a row of scenarios.yaml, where its fields are described.
type scenario struct {
	ID      string `json:"id"`
	Tier    string `json:"tier"`
	Star    bool   `json:"star,omitempty"`
	Title   string `json:"title"`
	State   string `json:"state,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Kubelet string `json:"kubelet,omitempty"`
}

// The states of a scenario without a test that shows it exactly.
const (
	stateOpen    = "open"
	stateNone    = "none"
	stateDiffers = "differs"
)

// withPods reports whether a scenario runs real pods.
func (s scenario) withPods() bool { return s.Tier == "N" || s.Tier == "2" }

// TestScenarios: every scenario has a test that shows it, or states why not. With -update it writes
// out/scenarios.md, the list of scenarios and their tests.
func TestScenarios(t *testing.T) {
	scenarios := readScenarios(t)
	tests := testsByScenario(t)
	for _, each := range scenarios {
		if wrong := each.wrong(tests[each.ID]); wrong != "" {
			t.Errorf("%s (%s) %s", each.ID, each.Title, wrong)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(tests)) {
		if !slices.ContainsFunc(scenarios, func(s scenario) bool { return s.ID == id }) {
			t.Errorf("%v name %s, which scenarios.yaml does not have: add it there", tests[id], id)
		}
	}
	if *update {
		if err := os.WriteFile("../out/scenarios.md", render(scenarios, tests), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// wrong describes a contradiction between a scenario and the tests whose subtests name it.
func (s scenario) wrong(tests []string) string {
	switch shown := len(tests) > 0; s.State {
	case "":
		switch {
		case !shown:
			return "is named by no subtest: write one, or give it a state in scenarios.yaml"
		case s.Reason != "":
			return "is shown by a test: it needs no reason"
		case s.withPods() && s.Kubelet == "" && !strings.Contains(strings.Join(tests, " "), "kind"):
			return "is named by no subtest on kind: write one, or say in scenarios.yaml what is not shown without"
		}
	case stateDiffers:
		if !shown || s.Reason == "" {
			return "differs: a subtest shows how, and the reason says it"
		}
	case stateOpen, stateNone:
		if shown || s.Reason == "" {
			return fmt.Sprintf("has the state %s: it needs a reason, and no test may name it, as %v do", s.State, tests)
		}
	default:
		return fmt.Sprintf("has the unknown state %q", s.State)
	}
	return ""
}

// TestStatesFitTheirTests: the state of a scenario must match its tests.
func TestStatesFitTheirTests(t *testing.T) {
	unit, kind := []string{"slices TestUpdate"}, []string{"e2e/slices TestScale (and on kind)"}
	for name, tc := range map[string]struct {
		scenario scenario
		tests    []string
		fits     bool
	}{
		"shown":                              {scenario{Tier: "U"}, unit, true},
		"not shown":                          {scenario{Tier: "U"}, nil, false},
		"shown, with a reason":               {scenario{Tier: "U", Reason: "why"}, unit, false},
		"with pods, on kind":                 {scenario{Tier: "N"}, kind, true},
		"with pods, not on kind":             {scenario{Tier: "N"}, unit, false},
		"with pods, and what is not shown":   {scenario{Tier: "2", Kubelet: "growth"}, unit, true},
		"none":                               {scenario{State: stateNone, Reason: "why"}, nil, true},
		"none, without a reason":             {scenario{State: stateNone}, nil, false},
		"none, and a test has the id":        {scenario{State: stateNone, Reason: "why"}, unit, false},
		"open":                               {scenario{State: stateOpen, Reason: "why"}, nil, true},
		"open, and a test has the id":        {scenario{State: stateOpen, Reason: "why"}, unit, false},
		"differs":                            {scenario{State: stateDiffers, Reason: "how"}, unit, true},
		"differs, without a reason":          {scenario{State: stateDiffers}, unit, false},
		"differs, and nothing shows it":      {scenario{State: stateDiffers, Reason: "how"}, nil, false},
		"a state that is none of the others": {scenario{State: "done"}, unit, false},
	} {
		t.Run(name, func(t *testing.T) {
			if wrong := tc.scenario.wrong(tc.tests); (wrong == "") != tc.fits {
				t.Errorf("it %q", wrong)
			}
		})
	}
}

// summary returns how many scenarios each state has.
func summary(scenarios []scenario) string {
	states := map[string]int{}
	for _, each := range scenarios {
		states[each.State]++
	}
	return fmt.Sprintf("Of %d scenarios %d are shown by subtests, and %d by subtests that show where we differ on purpose;\n"+
		"%d are open, and %d are none of ours, each with its reason.", len(scenarios), states[""], states[stateDiffers], states[stateOpen], states[stateNone])
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

var (
	scenarioID = regexp.MustCompile(`\b(?:[KRDSM]-\d{3}|[UX]-\d{2})\b`)
	commented  = regexp.MustCompile(`(?m)(^|\s)//[^"\n]*\b(?:[KRDSM]-\d{3}|[UX]-\d{2})\b.*$`)
)

// testsByScenario returns the tests whose subtests name an id.
func testsByScenario(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, folder := range testFolders(t) {
		named := idsIn(t, folder)
		if len(named) == 0 {
			continue
		}
		tests, err := readSubtests(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range slices.Sorted(maps.Keys(tests)) {
			for _, id := range scenarioID.FindAllString(strings.Join(tests[test], "\n"), -1) {
				delete(named, id)
				if where := whereIs(folder, test); !slices.Contains(found[id], where) {
					found[id] = append(found[id], where)
				}
			}
		}
		for id, path := range named {
			t.Errorf("%s names %s, and no subtest there does: an id counts in the name of the subtest that shows it", path, id)
		}
	}
	return found
}

// idsIn returns the ids that the tests of a folder name, each with a file. A comment must not contain an id, because a
// comment does not run.
func idsIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	ids := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		source := read(t, path)
		for _, id := range scenarioID.FindAllString(source, -1) {
			ids[id] = path
		}
		for _, comment := range commented.FindAllString(source, -1) {
			t.Errorf("%s names an id in a comment: %s", path, strings.TrimSpace(comment))
		}
	}
	return ids
}

func whereIs(folder, test string) string {
	where := strings.TrimPrefix(filepath.ToSlash(folder), "../") + " " + test
	if onKind(folder, test) {
		where += " (and on kind)"
	}
	return where
}

// onKind reports whether a test also runs between kind clusters: its folder's list names it.
func onKind(folder, test string) bool {
	source, err := os.ReadFile(filepath.Join(folder, "cases_test.go"))
	_, list, found := strings.Cut(string(source), "var onKind = []string{")
	list, _, closed := strings.Cut(list, "\n}")
	return err == nil && found && closed && strings.Contains(list, `"`+test+`"`)
}

// render returns the list of scenarios and their tests.
func render(scenarios []scenario, tests map[string][]string) []byte {
	var page bytes.Buffer
	fmt.Fprintf(&page, `# What peers test of a StatefulSet and of a move, and our tests of it

Generated from scenarios.yaml, which says what the columns mean, and the subtests that have
an id in their name: `+"`make generate`"+`. A star is what bears on slices and moves most.

%s

| id | tier | scenario | tests |
|---|---|---|---|
`, summary(scenarios))
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
	switch each.State {
	case stateDiffers:
		text = "differs: " + each.Reason + ": " + text
	case stateOpen, stateNone:
		text = each.State + ": " + each.Reason
	}
	if each.Kubelet != "" {
		text += " (without a real kubelet, what is not shown: " + each.Kubelet + ")"
	}
	return text
}

func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
