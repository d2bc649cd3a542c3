package config

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSchema: the schema has exactly the settings of a file, in the same places, with the values of Default.
func TestSchema(t *testing.T) {
	found := map[string]map[string]any{}
	properties := Schema()["properties"].(map[string]any)
	for name, each := range properties {
		property := each.(map[string]any)
		inner, isSection := property["properties"].(map[string]any)
		if !isSection {
			found[name] = property
			continue
		}
		if property["additionalProperties"] != false {
			t.Errorf("section %s takes any key", name)
		}
		for key, leaf := range inner {
			found[name+"."+key] = leaf.(map[string]any)
		}
	}
	var want []string
	for _, s := range settings() {
		want = append(want, s.key)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	for key, want := range map[string]map[string]any{
		"slices.enabled":               {"type": "boolean", "default": true},
		"concurrency":                  {"type": "integer", "default": 20},
		"clusterClient.qps":            {"type": "number", "default": float32(0)},
		"volumes.drivers":              {"type": "string", "default": ""},
		"leaderElection.leaseDuration": {"type": "string", "default": "15s", "pattern": durationPattern},
		"logLevel":                     {"type": "string", "default": "info", "enum": []string{"info", "debug"}},
	} {
		got := maps.Clone(found[key])
		delete(got, "description")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	for duration, want := range map[string]bool{"15s": true, "1m30s": true, "1.5h": true, "15": false, "": false, "s": false} {
		if got := regexp.MustCompile(durationPattern).MatchString(duration); got != want {
			t.Errorf("the pattern takes %q: %t", duration, got)
		}
	}
}
