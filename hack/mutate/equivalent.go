package main

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed equivalent.yaml
var equivalents []byte

// equivalent is a mutant without an observable effect, and the reason.
type equivalent struct {
	File    string `json:"file"`
	Func    string `json:"func"`
	Was     string `json:"was"`
	Becomes string `json:"becomes"`
	// Nth selects one of several identical mutants; 0 means the only one.
	Nth int    `json:"nth,omitempty"`
	Why string `json:"why"`
}

func (e equivalent) names(m *mutant) bool {
	return e.File == m.File && e.Func == m.Func && e.Was == m.Was && e.Becomes == m.Becomes && max(1, e.Nth) == m.Nth
}

// readEquivalents sets the reason of each mutant in the list. An entry without a mutant is an error: the list must
// follow the code.
func readEquivalents(mutants []*mutant, sources []*source) error {
	var list []equivalent
	if err := yaml.UnmarshalStrict(equivalents, &list); err != nil {
		return fmt.Errorf("equivalent.yaml: %w", err)
	}
	looked := map[string]bool{}
	for _, s := range sources {
		looked[s.file] = true
	}
	var wrong error
	for _, e := range list {
		if !looked[e.File] {
			continue
		}
		found := false
		for _, m := range mutants {
			if e.names(m) {
				m.why, found = e.Why, true
			}
		}
		if !found || strings.TrimSpace(e.Why) == "" {
			wrong = errors.Join(wrong, fmt.Errorf("equivalent.yaml: %s: %s: %s -> %s: there is no such mutant, or it is not said why", e.File, e.Func, e.Was, e.Becomes))
		}
	}
	return wrong
}
