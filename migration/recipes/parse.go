package recipes

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// All reads the recipes of a folder, ordered by name. Each name or alias may be used once.
func All(files fs.FS) ([]Recipe, error) {
	paths, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	var all []Recipe
	owner := map[string]string{}
	for _, path := range paths {
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, err
		}
		r, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, name := range append([]string{r.Name}, r.Aliases...) {
			if other, taken := owner[name]; taken {
				return nil, fmt.Errorf("%s: %q is a name of recipe %s already", path, name, other)
			}
			owner[name] = r.Name
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Recipe) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// Parse parses a recipe. It returns an error if the recipe has unknown fields, lacks required ones, or could
// not be used.
func Parse(text []byte) (Recipe, error) {
	r := Recipe{}
	if err := yaml.UnmarshalStrict(text, &r); err != nil {
		return r, err
	}
	return r, errors.Join(r.checkTexts(), r.checkTrial(), r.checkRehearsal(), r.checkParameters(), r.checkSources(), r.checkSteps())
}

var word = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// checkTexts checks that all required texts are present.
func (r Recipe) checkTexts() error {
	var errs []error
	for _, name := range append([]string{r.Name}, r.Aliases...) {
		if !word.MatchString(name) {
			errs = append(errs, fmt.Errorf("name %q must be of lower-case letters, digits and -", name))
		}
	}
	for field, text := range map[string]string{"title": r.Title, "summary": r.Summary, "settings.why": r.Settings.Why} {
		if text == "" {
			errs = append(errs, fmt.Errorf("%s is empty", field))
		}
	}
	order := r.Settings.Order
	if order != "" && order != api.HighestFirst && order != api.LowestFirst {
		errs = append(errs, fmt.Errorf("settings.order is %q and not HighestFirst or LowestFirst", order))
	}
	for _, a := range slices.Concat(r.Needs, r.Never) {
		if a.What == "" || a.Why == "" {
			errs = append(errs, fmt.Errorf("%q does not say what and why", a.What+a.Why))
		}
	}
	if len(r.Needs) == 0 || len(r.Never) == 0 || len(r.Limits) == 0 {
		errs = append(errs, errors.New("needs, never and limits each say something"))
	}
	return errors.Join(errs...)
}

// checkTrial checks that the description of a trial is complete.
func (r Recipe) checkTrial() error {
	whole := r.Trial.Versions != "" && r.Trial.What != "" && r.Trial.By != ""
	switch {
	case r.Trial.Status == Tried && !whole:
		return errors.New("trial: a tried recipe must have the versions, the steps and the command")
	case r.Trial.Status == Untried && r.Trial != Trial{Status: Untried}:
		return errors.New("trial: an untried recipe must have no other field")
	case r.Trial.Status != Tried && r.Trial.Status != Untried:
		return fmt.Errorf("trial.status is %q and not tried or untried", r.Trial.Status)
	}
	return nil
}

// checkRehearsal checks that the statement about rehearsals has a verdict and a reason, and names gates of the recipe.
func (r Recipe) checkRehearsal() error {
	switch s := r.Rehearsal; {
	case s == nil:
		return nil
	case s.Verdict != Safe && s.Verdict != Never:
		return fmt.Errorf("rehearsal.verdict is %q and not safe or never", s.Verdict)
	case s.Why == "" || len(s.Sources) == 0:
		return errors.New("rehearsal does not say why, or cites no source")
	}
	for _, name := range r.Rehearsal.Unasked {
		if !slices.ContainsFunc(r.Gates, func(g Gate) bool { return g.Gate["name"] == name }) {
			return fmt.Errorf("rehearsal.unasked: no gate is called %q", name)
		}
	}
	return nil
}

var identifier = regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)

func (r Recipe) checkParameters() error {
	var errs []error
	for i, p := range r.Parameters {
		name := func(other Parameter) bool { return other.Name == p.Name }
		switch {
		case !identifier.MatchString(p.Name) || p.Name == statefulSet:
			errs = append(errs, fmt.Errorf("parameter %q has an invalid name", p.Name))
		case slices.ContainsFunc(r.Parameters[:i], name):
			errs = append(errs, fmt.Errorf("parameter %s is defined twice", p.Name))
		case p.Says == "":
			errs = append(errs, fmt.Errorf("parameter %s has no description", p.Name))
		case p.Default == nil && p.Example == "":
			errs = append(errs, fmt.Errorf("parameter %s is required, but has no example", p.Name))
		}
		if _, err := p.parse(p.sample()); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sample returns a valid value that does not depend on the user.
func (p Parameter) sample() string {
	if p.Default != nil {
		return *p.Default
	}
	return p.Example
}

func (r Recipe) checkSources() error {
	var errs []error
	known := map[string]bool{}
	for _, s := range r.Sources {
		if s.ID == "" || s.Title == "" || !strings.HasPrefix(s.URL, "https://") || known[s.ID] {
			errs = append(errs, fmt.Errorf("source %q must have an ID of its own, a title and a URL by https", s.ID))
		}
		known[s.ID] = true
	}
	if len(r.Sources) == 0 {
		errs = append(errs, errors.New("it names no sources"))
	}
	cite := func(what string, ids []string) {
		for _, id := range ids {
			if !known[id] {
				errs = append(errs, fmt.Errorf("%s cites %q, which is no source", what, id))
			}
		}
	}
	for _, s := range r.steps() {
		if len(s.sources) == 0 {
			errs = append(errs, fmt.Errorf("%s cites no source", s.what))
		}
		cite(s.what, s.sources)
	}
	if r.Rehearsal != nil {
		cite("rehearsal", r.Rehearsal.Sources)
	}
	for _, a := range slices.Concat(r.Needs, r.Never) {
		cite(fmt.Sprintf("%q", a.What), a.Sources)
	}
	return errors.Join(errs...)
}

// Sample returns values with which every gate of a recipe is included: the defaults, the examples of required
// parameters, and true for every boolean.
func (r Recipe) Sample() Values {
	values := Values{statefulSet: "web"}
	for _, p := range r.Parameters {
		values[p.Name], _ = p.parse(strings.ReplaceAll(p.sample(), "{{"+statefulSet+"}}", "web"))
		if p.Type == Boolean {
			values[p.Name] = true
		}
	}
	return values
}

// checkSteps checks gates and hooks.
func (r Recipe) checkSteps() error {
	var errs []error
	for _, s := range r.steps() {
		isBoolean := func(p Parameter) bool { return p.Name == s.when && p.Type == Boolean }
		if s.when != "" && !slices.ContainsFunc(r.Parameters, isBoolean) {
			errs = append(errs, fmt.Errorf("%s depends on %q, which is no boolean parameter", s.what, s.when))
		}
		if s.why == "" {
			errs = append(errs, fmt.Errorf("%s does not say why", s.what))
		}
		if script := mixed(s.item); script != "" {
			errs = append(errs, fmt.Errorf("%s: a parameter would become a part of a command: give it by a variable: %s", s.what, script))
		}
	}
	filled, err := r.Fill(r.Sample())
	errs = append(errs, err)
	names := map[string]bool{}
	once := func(name string) {
		if names[name] {
			errs = append(errs, fmt.Errorf("two are called %q", name))
		}
		names[name] = true
	}
	for _, gate := range filled.Gates {
		once(gate.Name)
	}
	for _, hook := range filled.Hooks {
		once(hook.Name)
	}
	return errors.Join(errs...)
}

// mixed returns an argument of a command that has a placeholder next to other text; empty if there is none.
func mixed(node any) string {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			if arguments, isList := value.([]any); isList && (key == "command" || key == "args") {
				for _, argument := range arguments {
					text, _ := argument.(string)
					if whole := placeholder.FindString(text); whole != "" && whole != text {
						return text
					}
				}
			}
			if found := mixed(value); found != "" {
				return found
			}
		}
	case []any:
		for _, value := range node {
			if found := mixed(value); found != "" {
				return found
			}
		}
	}
	return ""
}
