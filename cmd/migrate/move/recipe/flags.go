// Package recipe provides recipes for the commands that move: the flags that select a recipe, and the command that shows
// them.
package recipe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/migration/recipes"
)

// Names of the flags.
const (
	Flag    = "recipe"
	FlagSet = "recipe-set"
)

// Flags select a recipe and its settings for this installation.
type Flags struct {
	recipe string
	set    []string
}

// Add adds the flags.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.recipe, Flag, "", "recipe for the system that moves, as `NAME|FILE`: its gates, order and names; your own flags override it")
	flags.StringArrayVar(&f.set, FlagSet, nil, "a parameter of the recipe, as `KEY=VALUE` (repeatable)")
}

// Apply applies the selected recipe to the spec of a move of the set. It returns nil if none is selected.
func (f *Flags) Apply(spec *api.MigrationSpec, set string, given recipes.Given) (*recipes.Recipe, error) {
	if f.recipe == "" {
		if len(f.set) > 0 {
			return nil, command.Usagef("--%s is for a recipe: give --%s", FlagSet, Flag)
		}
		return nil, nil //nolint:nilnil // nil is "none was chosen"
	}
	r, err := Find(f.recipe)
	if err != nil {
		return nil, err
	}
	parameters, err := f.parameters()
	if err != nil {
		return nil, err
	}
	values, err := r.Values(set, parameters)
	if err != nil {
		return nil, command.Usagef("--%s %s: %v; give parameters with --%s KEY=VALUE; the command %q lists them", Flag, f.recipe, oneLine(err), FlagSet, "recipes show "+r.Name)
	}
	filled, err := r.Fill(values)
	if err != nil {
		return nil, command.Usagef("--%s %s: %v", Flag, f.recipe, oneLine(err))
	}
	r.Apply(spec, filled, given)
	return &r, nil
}

func (f *Flags) parameters() (map[string]string, error) {
	parameters := map[string]string{}
	for _, text := range f.set {
		key, value, found := strings.Cut(text, "=")
		if !found || key == "" {
			return nil, command.Usagef("--%s must be KEY=VALUE, not %q", FlagSet, text)
		}
		if _, twice := parameters[key]; twice {
			return nil, command.Usagef("--%s gives %s twice", FlagSet, key)
		}
		parameters[key] = value
	}
	return parameters, nil
}

// oneLine joins the lines of an error.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Find returns the recipe with a name, or the recipe in a file. A name with a slash, or that ends in .yaml, is a file.
func Find(name string) (recipes.Recipe, error) {
	if strings.ContainsRune(name, os.PathSeparator) || slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)) {
		return ofFile(name)
	}
	all, err := All()
	if err != nil {
		return recipes.Recipe{}, err
	}
	names := make([]string, 0, len(all))
	for _, r := range all {
		if r.Called(name) {
			return r, nil
		}
		names = append(names, r.Name)
	}
	return recipes.Recipe{}, command.Usagef("there is no recipe %q, only: %s; a file is given with its folder (./%s.yaml)", name, strings.Join(names, ", "), name)
}

func ofFile(path string) (recipes.Recipe, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return recipes.Recipe{}, command.Usagef("there is no file %s with a recipe", path)
	}
	if err != nil {
		return recipes.Recipe{}, err
	}
	r, err := recipes.Parse(text)
	if err != nil {
		return r, command.Usagef("file %s holds no recipe: %s", path, oneLine(err))
	}
	return r, nil
}

// All returns the recipes that the program contains.
func All() ([]recipes.Recipe, error) {
	files, err := config.Recipes()
	if err != nil {
		return nil, err
	}
	return recipes.All(files)
}

// Warning returns a warning about a recipe, or an empty string if the recipe was tested.
func Warning(program string, r *recipes.Recipe) string {
	if r == nil || r.Trial.Status == recipes.Tried {
		return ""
	}
	return fmt.Sprintf("recipe %s was written from its sources, and has not been tried: rehearse it, and read %q first", r.Name, program+" recipes show "+r.Name)
}
