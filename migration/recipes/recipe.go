package recipes

import (
	"fmt"
	"slices"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Recipe is what one system needs in a move.
type Recipe struct {
	// Name by which it is asked for, and others that mean it.
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	// Title is the system's name, Summary one sentence on what the recipe does.
	Title   string `json:"title"`
	Summary string `json:"summary"`
	// Trial says what was run of it.
	Trial Trial `json:"trial"`
	// Sources are what it rests on.
	Sources []Source `json:"sources"`
	// Parameters are what differs between installations.
	Parameters []Parameter `json:"parameters,omitempty"`
	// Settings of the move.
	Settings Settings `json:"settings"`
	// Gates are questions and Jobs, in the order in which they stand in the spec.
	Gates []Gate `json:"gates"`
	// Hooks are Jobs before and after each ordinal, and the move, in the order in which they stand in the spec.
	Hooks []Hook `json:"hooks,omitempty"`
	// Needs must be so before the move: names that lead to the members from both sides, storage,
	// readiness.
	Needs []Advice `json:"needs"`
	// Never is what must not be done while it moves.
	Never []Advice `json:"never"`
	// Limits are what the recipe cannot do.
	Limits []string `json:"limits"`
}

// TrialStatus says whether a recipe was run.
type TrialStatus string

// The states of a trial.
const (
	// Tried: the recipe has moved the system under load, and the data was judged.
	Tried TrialStatus = "tried"
	// Untried: it was written from its sources.
	Untried TrialStatus = "untried"
)

// Trial is what was run of a recipe.
type Trial struct {
	Status TrialStatus `json:"status"`
	// Versions of the system, What happened to it and how it was judged, By the command that does it
	// again. Empty where nothing was run.
	Versions string `json:"versions,omitempty"`
	What     string `json:"what,omitempty"`
	By       string `json:"by,omitempty"`
}

// Source is a text that a recipe rests on.
type Source struct {
	// ID by which gates and advice cite it.
	ID    string `json:"id"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// Settings are those of the spec that a recipe chooses. What is not set is left alone.
type Settings struct {
	// Order of the ordinals.
	Order api.Order `json:"order,omitempty"`
	// MaxUnavailable is how many replicas of the whole application may be unavailable at once.
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
	// MinReadySeconds is how long a moved replica must be Ready before the next one moves.
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
	// ExportOrdinals gives each ordinal a name of the clusterset, which it keeps.
	ExportOrdinals bool `json:"exportOrdinals,omitempty"`
	// Why they are so.
	Why string `json:"why"`
}

// Gate is one gate of the spec.
type Gate struct {
	// Why it is asked.
	Why string `json:"why"`
	// When names a boolean parameter; where that is false the gate is left out.
	When string `json:"when,omitempty"`
	// Sources that say so, by their IDs.
	Sources []string `json:"sources"`
	// Gate as spec.gates has it, with placeholders.
	Gate map[string]any `json:"gate"`
}

// Hook is one hook of the spec.
type Hook struct {
	// Why it is run.
	Why string `json:"why"`
	// When names a boolean parameter; where that is false the hook is left out.
	When string `json:"when,omitempty"`
	// Sources that say so, by their IDs.
	Sources []string `json:"sources"`
	// Hook as spec.hooks has it, with placeholders.
	Hook map[string]any `json:"hook"`
}

// step is what gates and hooks have in common.
type step struct {
	what    string
	why     string
	when    string
	sources []string
	item    map[string]any
}

// steps are all gates and hooks.
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
	// Sources that say so, by their IDs.
	Sources []string `json:"sources,omitempty"`
}

// Called says whether the name, or another one, means this recipe.
func (r Recipe) Called(name string) bool { return r.Name == name || slices.Contains(r.Aliases, name) }
