package recipes

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

const toy = `
name: toy
aliases: [plaything]
title: Toy
summary: A system that nobody runs.
trial: {status: untried}
sources:
- {id: book, title: The book, url: "https://toys.example/book"}
parameters:
- {name: port, type: integer, default: "80", says: the port}
- {name: scheme, type: string, default: HTTP, choices: [HTTP, HTTPS], says: the scheme}
- {name: image, type: string, example: registry.example/toy:1, says: an image with the tool}
- {name: service, type: string, default: "{{statefulset}}-peers", says: the Service}
- {name: ask, type: boolean, default: "true", says: whether pods are asked}
settings: {order: LowestFirst, maxUnavailable: 1, minReadySeconds: 5, exportOrdinals: true, why: so that it works}
gates:
- why: it must be well
  when: ask
  sources: [book]
  gate:
    name: well
    at: [BeforeStop]
    http: {scheme: "{{scheme}}", port: "{{port}}", path: "/of/{{service}}/{{port}}"}
- why: it must rest
  sources: [book]
  gate:
    name: rest
    at: [AfterStart]
    job:
      spec:
        template:
          spec:
            containers:
            - name: tool
              image: "{{image}}"
              args: ["{{service}}", "--now"]
              env: [{name: PORT, value: "{{port:text}}"}]
hooks:
- why: it must be told
  sources: [book]
  hook: {name: tell, point: BeforeOrdinal, job: {spec: {template: {spec: {containers: [{name: tool, image: "{{image}}"}]}}}}}
needs: [{what: names, why: they move}]
never: [{what: break it, why: it breaks, sources: [book]}]
limits: [it is a toy]
`

func parseToy(t *testing.T) Recipe {
	t.Helper()
	r, err := Parse([]byte(toy))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFill(t *testing.T) {
	for name, tc := range map[string]struct {
		given    map[string]string
		want     string
		wantText string
	}{
		"defaults": {map[string]string{"image": "toy:1"}, `
- {name: well, at: [BeforeStop], http: {scheme: HTTP, port: 80, path: /of/web-peers/80}}
- {name: rest, at: [AfterStart], job: {spec: {template: {spec: {containers: [{name: tool, image: "toy:1", args: [web-peers, --now], env: [{name: PORT, value: "80"}]}]}}}}}`, ""},
		"given": {map[string]string{"image": "toy:2", "port": "81", "scheme": "HTTPS", "service": "x"}, `
- {name: well, at: [BeforeStop], http: {scheme: HTTPS, port: 81, path: /of/x/81}}
- {name: rest, at: [AfterStart], job: {spec: {template: {spec: {containers: [{name: tool, image: "toy:2", args: [x, --now], env: [{name: PORT, value: "81"}]}]}}}}}`, ""},
		"not wanted": {map[string]string{"image": "toy:1", "ask": "false"}, `
- {name: rest, at: [AfterStart], job: {spec: {template: {spec: {containers: [{name: tool, image: "toy:1", args: [web-peers, --now], env: [{name: PORT, value: "80"}]}]}}}}}`, ""},
		"a text is no document": {map[string]string{"image": "toy:1", "ask": "false", "service": "a: [b"}, `
- {name: rest, at: [AfterStart], job: {spec: {template: {spec: {containers: [{name: tool, image: "toy:1", args: ["a: [b", --now], env: [{name: PORT, value: "80"}]}]}}}}}`, ""},
		"missing":        {nil, "", "parameter image must be given, such as image=registry.example/toy:1: an image with the tool"},
		"unknown":        {map[string]string{"image": "i", "colour": "red"}, "", `recipe toy has no parameter "colour", only: port, scheme, image, service, ask`},
		"no number":      {map[string]string{"image": "i", "port": "http"}, "", `parameter port must be a whole number, not "http"`},
		"no choice":      {map[string]string{"image": "i", "scheme": "http"}, "", `parameter scheme must be one of HTTP, HTTPS, not "http"`},
		"neither or":     {map[string]string{"image": "i", "ask": "perhaps"}, "", `parameter ask must be true or false, not "perhaps"`},
		"out of bounds":  {map[string]string{"image": "i", "port": "99999999999"}, "", "gate 1 of recipe toy"},
		"all at a time":  {map[string]string{"port": "x", "ask": "y"}, "", "image must be given"},
		"the last of it": {map[string]string{"port": "x", "ask": "y"}, "", "parameter ask"},
	} {
		t.Run(name, func(t *testing.T) {
			r := parseToy(t)
			values, err := r.Values("web", tc.given)
			var filled Filled
			if err == nil {
				filled, err = r.Fill(values)
			}
			if tc.wantText != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantText) {
					t.Fatalf("error %v, want %q", err, tc.wantText)
				}
				return
			}
			var want []api.HealthGate
			if err := yaml.UnmarshalStrict([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, filled.Gates); err != nil || diff != "" {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
}

func TestApply(t *testing.T) {
	gate := func(name string, interval int32) api.HealthGate {
		return api.HealthGate{Name: name, IntervalSeconds: &interval}
	}
	five, nine := int32(5), int32(9)
	own := api.MigrationSpec{
		Ordinals: api.OrdinalsSpec{Order: api.HighestFirst}, MaxUnavailable: new(intstr.FromInt32(2)),
		Handoff: api.HandoffSpec{MinReadySeconds: &nine}, Gates: []api.HealthGate{gate("mine", 1), gate("rest", 2)},
		Hooks: []api.Hook{{Name: "ours", Point: api.HookAfterMigration}},
	}
	hooks := []api.Hook{{Name: "tell"}, {Name: "ours", Point: api.HookAfterMigration}}
	for name, tc := range map[string]struct {
		given Given
		want  api.MigrationSpec
	}{
		"nothing was asked for": {Given{}, api.MigrationSpec{
			Ordinals: api.OrdinalsSpec{Order: api.LowestFirst}, MaxUnavailable: new(intstr.FromInt32(1)),
			Handoff: api.HandoffSpec{MinReadySeconds: &five}, Services: api.ServicesSpec{PerOrdinal: api.PerOrdinalExport},
			Gates: []api.HealthGate{gate("well", 7), gate("mine", 1), gate("rest", 2)}, Hooks: hooks,
		}},
		"everything was": {Given{Order: true, MaxUnavailable: true, MinReadySeconds: true, ExportOrdinals: true}, api.MigrationSpec{
			Ordinals: own.Ordinals, MaxUnavailable: own.MaxUnavailable, Handoff: own.Handoff,
			Gates: []api.HealthGate{gate("well", 7), gate("mine", 1), gate("rest", 2)}, Hooks: hooks,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := *own.DeepCopy()
			parseToy(t).Apply(&got, Filled{Gates: []api.HealthGate{gate("well", 7), gate("rest", 8)}, Hooks: []api.Hook{{Name: "tell"}, {Name: "ours"}}}, tc.given)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestApplyLeavesAlone: no recipe changes or removes a setting of the user.
func TestApplyLeavesAlone(t *testing.T) {
	r := parseToy(t)
	rapid.Check(t, func(t *rapid.T) {
		gates := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) api.HealthGate {
			return api.HealthGate{Name: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name"), IntervalSeconds: new(rapid.Int32Range(1, 9).Draw(t, "interval"))}
		}), 0, 4, func(g api.HealthGate) string { return g.Name })
		own, add := gates.Draw(t, "own"), gates.Draw(t, "of the recipe")
		spec := api.MigrationSpec{Gates: own}
		r.Apply(&spec, Filled{Gates: add}, Given{})
		seen := map[string]api.HealthGate{}
		for _, gate := range spec.Gates {
			if _, twice := seen[gate.Name]; twice {
				t.Fatalf("gate %s is there twice", gate.Name)
			}
			seen[gate.Name] = gate
		}
		for _, gate := range own {
			if diff := cmp.Diff(gate, seen[gate.Name]); diff != "" {
				t.Fatalf("what was asked for is not there:\n%s", diff)
			}
		}
		for _, gate := range add {
			if _, there := seen[gate.Name]; !there {
				t.Fatalf("gate %s of the recipe is not there", gate.Name)
			}
		}
	})
}

func TestParseRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"an unknown field":        {"title: Toy", "titel: Toy", "titel"},
		"no title":                {"title: Toy", "title: ''", "title is empty"},
		"a bad name":              {"name: toy", "name: To y", `name "To y"`},
		"an order of its own":     {"order: LowestFirst", "order: Random", `settings.order is "Random"`},
		"tried by nobody":         {"status: untried", "status: tried", "must have the versions"},
		"untried, by somebody":    {"status: untried", "status: untried, by: make it", "must have no other field"},
		"neither":                 {"status: untried", "status: perhaps", `trial.status is "perhaps"`},
		"no reason":               {"why: they move", "why: ''", "does not say what and why"},
		"nothing is never":        {"never: [{what: break it, why: it breaks, sources: [book]}]", "never: []", "each say something"},
		"a source by http":        {"https://", "http://", `source "book"`},
		"no such source":          {"sources: [book]}", "sources: [film]}", `cites "film"`},
		"a gate without source":   {"  sources: [book]\n  gate:\n    name: well", "  sources: []\n  gate:\n    name: well", "gate 1 cites no source"},
		"a parameter twice":       {"name: scheme", "name: port", "parameter port is defined twice"},
		"a name that is taken":    {"name: port", "name: statefulset", "an invalid name"},
		"a default of its type":   {`default: "80"`, `default: "eighty"`, "whole number"},
		"no example":              {"example: registry.example/toy:1, ", "", "has no example"},
		"no type":                 {"type: boolean", "type: maybe", "no type that is known"},
		"a gate of its own field": {"http: {scheme", "http: {method: POST, scheme", "method"},
		"two gates of a name":     {"name: rest", "name: well", `two are called "well"`},
		"no such parameter":       {"/of/{{service}}", "/of/{{services}}", `no parameter is called "services"`},
		"depends on a text":       {"when: ask", "when: image", "no boolean parameter"},
		"a hook of its own field": {"point: BeforeOrdinal", "when: BeforeOrdinal", "when"},
		"a hook of a gate's name": {"name: tell", "name: rest", `two are called "rest"`},
		"a rehearsal of no kind":  {"sources:\n- {id: book", "rehearsal: {verdict: maybe, why: it is, sources: [book]}\nsources:\n- {id: book", "not safe or never"},
		"a rehearsal, no reason":  {"sources:\n- {id: book", "rehearsal: {verdict: safe, sources: [book]}\nsources:\n- {id: book", "rehearsal does not say why"},
		"a gate not to be asked":  {"sources:\n- {id: book", "rehearsal: {verdict: safe, why: it is, unasked: [sick], sources: [book]}\nsources:\n- {id: book", `no gate is called "sick"`},
		"a rehearsal by hearsay":  {"sources:\n- {id: book", "rehearsal: {verdict: never, why: it joins, sources: [rumour]}\nsources:\n- {id: book", `rehearsal cites "rumour"`},
		"a script with parameter": {`"--now"`, `"echo {{service}}"`, "give it by a variable"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(toy, tc.old, tc.new, 1)
			if text == toy {
				t.Fatal("the test changes nothing")
			}
			if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestAll(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	other := strings.NewReplacer("name: toy", "name: ball", "aliases: [plaything]", "").Replace(toy)
	all, err := All(fstest.MapFS{"z.yaml": file(other), "a.yaml": file(toy)})
	if err != nil || len(all) != 2 || all[0].Name != "ball" || !all[1].Called("plaything") {
		t.Errorf("%v, %v", all, err)
	}
	taken := strings.Replace(toy, "name: toy", "name: plaything", 1)
	if _, err := All(fstest.MapFS{"z.yaml": file(taken), "a.yaml": file(toy)}); err == nil || !strings.Contains(err.Error(), `"plaything" is a name of recipe`) {
		t.Errorf("two of a name: %v", err)
	}
	if _, err := All(fstest.MapFS{"a.yaml": file("name: [")}); err == nil || !strings.Contains(err.Error(), "a.yaml") {
		t.Errorf("no YAML: %v", err)
	}
}
