package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPlan: the plan is valid, and the Makefile has all its targets.
func TestPlan(t *testing.T) {
	p, err := load("../../.ci/stages.yaml")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, found := range regexp.MustCompile(`(?m)^([a-z0-9 .-]+):`).FindAllSubmatch(makefile, -1) {
		targets = append(targets, strings.Fields(string(found[1]))...)
	}
	named := slices.Clone(p.ByHand)
	for _, each := range p.Stages {
		named = append(named, each.Target)
	}
	for _, target := range named {
		if !slices.Contains(targets, target) {
			t.Errorf("the Makefile has no target %s", target)
		}
	}
}

func TestValidate(t *testing.T) {
	on := func(target string, clusters int) stage {
		return stage{Name: target, Target: target, Docker: clusters > 0, Minutes: clusters, Clusters: clusters}
	}
	breaks := on("machines", 3)
	breaks.Breaks = true
	for name, tc := range map[string]struct {
		stages []stage
		want   string
	}{
		"none":                    {want: "no stages"},
		"what breaks comes last":  {stages: []stage{on("lint", 0), on("moves", 2), breaks}},
		"what breaks comes first": {stages: []stage{breaks, on("moves", 2)}, want: "stops machines that moves needs"},
		"apart":                   {stages: []stage{on("moves", 2), on("lint", 0), on("slices", 2)}, want: "slices is apart"},
		"no docker":               {stages: []stage{{Name: "moves", Target: "moves", Minutes: 20, Clusters: 2}}, want: "clusters are for stages with docker"},
		"no minutes":              {stages: []stage{{Name: "moves", Target: "moves", Docker: true}}, want: "takes turns, so it must have minutes"},
		"no cluster":              {stages: []stage{{Name: "pages", Target: "pages", Minutes: 20}}},
		"twice":                   {stages: []stage{on("lint", 0), on("lint", 0)}, want: "named twice"},
		"a test that takes turns": {stages: []stage{{Name: "unit", Target: "unit", Test: true, Minutes: 5}}, want: "none of its stages takes turns"},
		"no name":                 {stages: []stage{{Target: "lint"}}, want: "both must be given"},
	} {
		t.Run(name, func(t *testing.T) {
			err := plan{Stages: tc.stages}.validate()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
