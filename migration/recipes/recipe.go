package recipes

import (
	"fmt"
	"slices"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Recipe describes the requirements of one system for a move.
type Recipe struct {
	// Name is its name on the command line, and Aliases are alternative names.
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	// Title is the system's name, and Summary one sentence about the recipe.
	Title   string `json:"title"`
	Summary string `json:"summary"`
	// Trial describes how the recipe was tested.
	Trial Trial `json:"trial"`
	// Rehearsal states whether clones of the members may start while the members run; nil if the recipe does not state
	// it.
	Rehearsal *Rehearsal `json:"rehearsal,omitempty"`
	// Sources are the documents on which it is based.
	Sources []Source `json:"sources"`
	// Parameters are the values that differ between installations.
	Parameters []Parameter `json:"parameters,omitempty"`
	// Settings are the settings of the move.
	Settings Settings `json:"settings"`
	// Gates are the gates, in the order of the spec.
	Gates []Gate `json:"gates"`
	// Hooks are Jobs before and after each ordinal and the move, in the order of the spec.
	Hooks []Hook `json:"hooks,omitempty"`
	// Needs are the requirements before the move: names that lead to the members from both sides, storage,
	// readiness.
	Needs []Advice `json:"needs"`
	// Never lists what must not be done during the move.
	Never []Advice `json:"never"`
	// Limits lists what the recipe cannot do.
	Limits []string `json:"limits"`
}

// TrialStatus reports whether a recipe was tested.
type TrialStatus string

// The values of TrialStatus.
const (
	// Tried means that the recipe has moved the system under load, and that the data was verified.
	Tried TrialStatus = "tried"
	// Untried means that it was written from its sources.
	Untried TrialStatus = "untried"
)

// Trial describes the test of a recipe.
type Trial struct {
	Status TrialStatus `json:"status"`
	// Versions are the versions of the system. What describes the test and its verdict. By is the command that
	// repeats it. They are empty if nothing was run.
	Versions string `json:"versions,omitempty"`
	What     string `json:"what,omitempty"`
	By       string `json:"by,omitempty"`
}

// RehearsalVerdict states whether a system may be rehearsed.
type RehearsalVerdict string

// The values of RehearsalVerdict.
const (
	// Safe means that a clone behind a NetworkPolicy harms nothing.
	Safe RehearsalVerdict = "safe"
	// Never means that a clone would act for the running system if one packet passed, or could not start without it.
	Never RehearsalVerdict = "never"
)

// Rehearsal states whether a system may be rehearsed, and why.
type Rehearsal struct {
	Verdict RehearsalVerdict `json:"verdict"`
	Why     string           `json:"why"`
	// Unasked are the names of the gates that a rehearsal does not ask, because they wait for members that its pods do not
	// reach.
	Unasked []string `json:"unasked,omitempty"`
	// Sources are the IDs of its sources.
	Sources []string `json:"sources"`
}

// Source is a document on which a recipe is based.
type Source struct {
	// ID is the ID by which gates and advice cite it.
	ID    string `json:"id"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// Settings are the fields of the spec that a recipe sets. Unset ones are not changed.
type Settings struct {
	// Order is the order of the ordinals.
	Order api.Order `json:"order,omitempty"`
	// MaxUnavailable is how many replicas of the whole application may be unavailable at once.
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
	// MinReadySeconds is how long a moved replica must be Ready before the next one moves.
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
	// ExportOrdinals gives each ordinal a clusterset name that it keeps.
	ExportOrdinals bool `json:"exportOrdinals,omitempty"`
	// Why is the reason for these settings.
	Why string `json:"why"`
}

// Gate is one gate of the spec.
type Gate struct {
	// Why is its reason.
	Why string `json:"why"`
	// When is the name of a boolean parameter. The gate is left out if that is false.
	When string `json:"when,omitempty"`
	// Sources are the IDs of its sources.
	Sources []string `json:"sources"`
	// Gate is the entry of spec.gates, with placeholders.
	Gate map[string]any `json:"gate"`
}

// Hook is one hook of the spec.
type Hook struct {
	// Why is its reason.
	Why string `json:"why"`
	// When is the name of a boolean parameter. The hook is left out if that is false.
	When string `json:"when,omitempty"`
	// Sources are the IDs of its sources.
	Sources []string `json:"sources"`
	// Hook is the entry of spec.hooks, with placeholders.
	Hook map[string]any `json:"hook"`
}

// step holds the common fields of gates and hooks.
type step struct {
	what    string
	why     string
	when    string
	sources []string
	item    map[string]any
}

// steps returns all gates and hooks.
func (r Recipe) steps() []step {
	steps := make([]step, 0, len(r.Gates)+len(r.Hooks))
	for i, g := range r.Gates {
		steps = append(steps, step{fmt.Sprintf("gate %d", i+1), g.Why, g.When, g.Sources, g.Gate})
	}
	for i, h := range r.Hooks {
		steps = append(steps, step{fmt.Sprintf("hook %d", i+1), h.Why, h.When, h.Sources, h.Hook})
	}
	return steps
}

// Advice is one sentence with its reason.
type Advice struct {
	What string `json:"what"`
	Why  string `json:"why"`
	// Sources are the IDs of its sources.
	Sources []string `json:"sources,omitempty"`
}

// Called reports whether a name or alias means this recipe.
func (r Recipe) Called(name string) bool { return r.Name == name || slices.Contains(r.Aliases, name) }
