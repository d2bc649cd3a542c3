// Package flags defines the command-line flags of a move.
package flags

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/recipe"
	"github.com/sliceshift/sliceshift/migration/recipes"
	"github.com/sliceshift/sliceshift/pdb"
)

// Spec holds the flags for the spec of a Migration.
type Spec struct {
	order, cleanup  *command.Choice
	splitBudget     *command.Choice
	kind, toKind    *command.Choice
	count           int32
	maxUnavailable  string
	minReady        time.Duration
	deadline        time.Duration
	storageClasses  map[string]string
	accessModes     map[string]string
	shared          []string
	volume          []string
	exportServices  bool
	exportOrdinals  bool
	createNamespace bool
	gates           string
	hooks           string
	probe           probeFlags
	recipe          recipe.Flags
	schedule        schedule
	pauseWriters    bool
	pausedByHand    []string
	dependencies    dependencies
	flags           *pflag.FlagSet

	// cooked is the recipe that was applied to the spec, or nil.
	cooked *recipes.Recipe
}

// Names of flags that are passed again when a run is continued.
const (
	Order          = "order"
	Count          = "count"
	MaxUnavailable = "max-unavailable"
	MinReady       = "min-ready"
	Deadline       = "deadline"
	StorageClass   = "storage-class"
	AccessModes    = "access-modes"
	Shared         = "shared"
	ExportServices = "export-services"
	ExportOrdinals = "export-ordinals"
	Volume         = "volume"
	Cleanup        = "cleanup"
	SplitBudget    = "split-budget"
	Kind           = "api-version"
	ToKind         = "to-api-version"
	Gates          = "gates"
	Hooks          = "hooks"
	Probe          = "probe"
	ProbeQuery     = "probe-query"
	PauseWriters   = "pause-writers"
	PausedByHand   = "paused-by-hand"
)

// Add adds all flags.
func (f *Spec) Add(flags *pflag.FlagSet) {
	f.flags = flags
	f.order = command.NewChoice("highest-first", "highest-first", "lowest-first")
	f.cleanup = command.NewChoice("retain", "retain", "delete")
	f.splitBudget = command.NewChoice("proportional", "proportional", "source", "destination")
	f.kind = command.NewChoice("apps/v1", "apps/v1", slicesapi.GroupVersion.String())
	f.toKind = command.NewChoice("", "apps/v1", slicesapi.GroupVersion.String())
	f.addOrdinals(flags)
	f.addVolumes(flags)
	command.FlagGroup(flags, "Other objects of the pods", func() {
		f.dependencies.add(flags)
		flags.BoolVar(&f.exportServices, ExportServices, false, "create a ServiceExport for the governing Service on both sides")
		flags.BoolVar(&f.exportOrdinals, ExportOrdinals, false, "create a Service and a ServiceExport for each ordinal, on the side that holds it: its name survives the move")
		flags.BoolVar(&f.createNamespace, "create-namespace", false, "create the destination's namespace when it does not exist")
	})
	command.FlagGroup(flags, "Schedule, gates and hooks", func() {
		f.schedule.add(flags)
		flags.StringVar(&f.hooks, Hooks, "", "`FILE` with hooks: a field hooks, as in the spec of a Migration")
		flags.StringVar(&f.gates, Gates, "", "`FILE` with health gates: a field gates, as in the spec of a Migration")
		f.probe.add(flags)
		f.recipe.Add(flags)
		flags.BoolVar(&f.pauseWriters, PauseWriters, false, "pause other writers of the source, such as its operator, a ScaledObject or Flux, by their documented setting, and resume them at the end")
		flags.StringSliceVar(&f.pausedByHand, PausedByHand, nil, "a writer that you have paused where this command cannot see it, such as in the cluster of Argo CD: KIND/NAMESPACE/NAME")
	})
}

// addOrdinals adds the flags for which ordinals move, and how many at once.
func (f *Spec) addOrdinals(flags *pflag.FlagSet) {
	command.FlagGroup(flags, "Ordinals and budget", func() {
		flags.Var(f.kind, Kind, "apiVersion of the source StatefulSet")
		flags.Var(f.toKind, ToKind, "apiVersion of the destination StatefulSet (default: the source's)")
		flags.Var(f.order, Order, "end of the source that moves first")
		flags.Int32Var(&f.count, Count, 0, "how many ordinals move; the application then stays split (default: all)")
		flags.Var(f.splitBudget, SplitBudget, "side that has the disruption budget while the application stays split")
		flags.StringVar(&f.maxUnavailable, MaxUnavailable, "", "how many replicas of the whole application may be unavailable at once, as `N|N%` (default: what the PodDisruptionBudget allows, or 1)")
		flags.DurationVar(&f.minReady, MinReady, 0, "how long a moved replica must be Ready before the next one moves")
		flags.DurationVar(&f.deadline, Deadline, 10*time.Minute, "how long one step of an ordinal may take before it counts as stalled")
		flags.Var(f.cleanup, Cleanup, "what happens to the source's objects at the end; the storage itself always stays")
	})
}

// addVolumes adds the flags for how data moves.
func (f *Spec) addVolumes(flags *pflag.FlagSet) {
	command.FlagGroup(flags, "Volumes", func() {
		flags.StringArrayVar(&f.volume, Volume, nil, volumeHelp)
		flags.StringToStringVar(&f.storageClasses, StorageClass, nil, "the destination's storage class for the claims of a template, as `TEMPLATE=CLASS` (repeatable)")
		flags.StringToStringVar(&f.accessModes, AccessModes, nil, "the access modes of the destination's new volumes for the claims of a template, as `TEMPLATE=MODE[+MODE]` (repeatable)")
		for _, name := range []string{StorageClass, AccessModes} {
			flags.Lookup(name).DefValue = "" // the default [] is meaningless in the help
		}
		flags.StringSliceVar(&f.shared, Shared, nil, "the volumes of `TEMPLATE` are a path on a node (hostPath, local) with the same files in both clusters; or a volume of the pods that has the needed content at the destination (repeatable)")
	})
}

// Given reports whether the user set a flag.
func (f *Spec) Given(name string) bool { return f.flags.Changed(name) }

// Limits of the API, in seconds.
const (
	longestMinReady = 86400
	longestDeadline = 604800
)

// Spec returns the spec of the flags.
func (f *Spec) Spec(source string, to Destination) (api.MigrationSpec, error) {
	spec := api.MigrationSpec{
		Source:      api.SourceReference{Name: source, APIVersion: f.kind.Value},
		Destination: api.DestinationReference{Namespace: to.Namespace, Name: to.Name, APIVersion: f.toKind.Value, CreateNamespace: f.createNamespace},
		Ordinals:    api.OrdinalsSpec{Order: api.HighestFirst},
		Mode:        api.ModeRun,
		Services:    api.ServicesSpec{Export: f.exportServices},
		Writers:     api.WritersSpec{Pause: f.pauseWriters, PausedByHand: f.pausedByHand},
		Cleanup:     api.CleanupSpec{Source: api.CleanupRetain},
	}
	if err := to.check(); err != nil {
		return spec, err
	}
	if f.exportOrdinals {
		spec.Services.PerOrdinal = api.PerOrdinalExport
	}
	if f.order.Value == "lowest-first" {
		spec.Ordinals.Order = api.LowestFirst
	}
	if f.cleanup.Value == "delete" {
		spec.Cleanup.Source = api.CleanupDelete
	}
	if f.Given(SplitBudget) {
		spec.SplitBudget = SplitBudgets[f.splitBudget.Value]
	}
	if f.Given(Count) {
		if f.count < 1 {
			return spec, command.Usagef("--%s must be at least 1, not %d", Count, f.count)
		}
		spec.Ordinals.Count = new(f.count)
	}
	f.dependencies.set(&spec.Dependencies, f.Given)
	err := f.dependencies.check(spec.Dependencies, f.Given)
	if err != nil {
		return spec, err
	}
	if spec.MaxUnavailable, err = budgetFlag(f.maxUnavailable); err != nil {
		return spec, err
	}
	if spec.Handoff.MinReadySeconds, err = seconds(MinReady, f.minReady, 0, longestMinReady); err != nil {
		return spec, err
	}
	if spec.Handoff.ProgressDeadlineSeconds, err = seconds(Deadline, f.deadline, 1, longestDeadline); err != nil {
		return spec, err
	}
	if spec.Hooks, err = hooks.read(f.hooks); err != nil {
		return spec, err
	}
	if spec.Gates, err = gates.read(f.gates); err != nil {
		return spec, err
	}
	if spec.Probe, err = f.probe.spec(); err != nil {
		return spec, err
	}
	if spec.Schedule, err = f.schedule.spec(f.Given); err != nil {
		return spec, err
	}
	if spec.Volumes, err = f.volumes(); err != nil {
		return spec, err
	}
	return spec, f.cook(&spec)
}

// cook applies the chosen recipe to a spec. Explicit flags have precedence.
func (f *Spec) cook(spec *api.MigrationSpec) (err error) {
	f.cooked, err = f.recipe.Apply(spec, spec.Source.Name, recipes.Given{
		Order: f.Given(Order), MaxUnavailable: f.Given(MaxUnavailable), MinReadySeconds: f.Given(MinReady), ExportOrdinals: f.Given(ExportOrdinals),
	})
	if err != nil || f.cooked == nil {
		return err
	}
	by := "--" + recipe.Flag + " " + f.cooked.Name
	return errors.Join(gates.check(by, spec.Gates), hooks.check(by, spec.Hooks))
}

// Cooked reports whether a recipe was applied.
func (f *Spec) Cooked() bool { return f.cooked != nil }

// Schedules reports whether the flags define a schedule.
func (f *Spec) Schedules() bool { return f.schedule.any(f.Given) }

// SetDependencies sets the dependency flags in a spec and leaves its other fields unchanged.
func (f *Spec) SetDependencies(spec *api.DependenciesSpec) { f.dependencies.set(spec, f.Given) }

// Orders reports whether the applied recipe sets the order of the ordinals.
func (f *Spec) Orders() bool { return f.cooked != nil && f.cooked.Settings.Order != "" }

// Warn prints the warning of the applied recipe, if it has one.
func (f *Spec) Warn(c *command.Common) {
	if text := recipe.Warning(c.Program, f.cooked); text != "" {
		fmt.Fprintln(c.ErrOut, "warning: "+text)
	}
}

// volumes returns the spec of each claim template that a flag names.
func (f *Spec) volumes() ([]api.VolumeSpec, error) {
	templates := map[string]*api.VolumeSpec{}
	of := func(template string) *api.VolumeSpec {
		if templates[template] == nil {
			templates[template] = &api.VolumeSpec{ClaimTemplate: template, Method: api.MethodRebind}
		}
		return templates[template]
	}
	for template, class := range f.storageClasses {
		if template == "" || class == "" {
			return nil, command.Usagef("--%s must be TEMPLATE=CLASS", StorageClass)
		}
		of(template).StorageClassName = &class
	}
	for template, modes := range f.accessModes {
		if template == "" || modes == "" {
			return nil, command.Usagef("--%s must be TEMPLATE=MODE, or TEMPLATE=MODE+MODE", AccessModes)
		}
		for mode := range strings.SplitSeq(modes, "+") {
			if !slices.Contains(knownModes, corev1.PersistentVolumeAccessMode(mode)) {
				return nil, command.Usagef("--%s %s=%s: %q is no access mode; the modes are %s", AccessModes, template, modes, mode, api.Modes(knownModes))
			}
			of(template).AccessModes = append(of(template).AccessModes, corev1.PersistentVolumeAccessMode(mode))
		}
	}
	for _, template := range f.shared {
		if template == "" {
			return nil, command.Usagef("--%s must be the name of a claim template", Shared)
		}
		of(template).Shared = true
	}
	for _, text := range f.volume {
		if err := readVolume(text, of); err != nil {
			return nil, err
		}
	}
	var volumes []api.VolumeSpec
	for _, template := range slices.Sorted(maps.Keys(templates)) {
		if why := wrongModes(*templates[template]); why != "" {
			return nil, command.Usagef("--%s %s=%s: %s", AccessModes, template, api.Modes(templates[template].AccessModes), why)
		}
		volumes = append(volumes, *templates[template])
	}
	return volumes, nil
}

// SplitBudgets maps the words of --split-budget and of budget --to.
var SplitBudgets = map[string]api.SplitBudget{
	"proportional": api.SplitBudgetProportional, "both": api.SplitBudgetProportional,
	"source": api.SplitBudgetSource, "destination": api.SplitBudgetDestination,
}

// budgetFlag parses --max-unavailable.
func budgetFlag(text string) (*intstr.IntOrString, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nil is the API's "from the PodDisruptionBudget"
	}
	value := intstr.Parse(text)
	const many = 100 // any number of replicas, because only the syntax is checked
	if allowed, err := pdb.Budget(pdb.Form{MaxUnavailable: &value}, many); err != nil || allowed < 1 {
		return nil, command.Usagef("--%s must be a number of at least 1 or a percentage from 1%% to 100%%, not %q", MaxUnavailable, text)
	}
	return &value, nil
}

// seconds rounds a duration up to whole seconds, the unit of the API.
func seconds(flag string, value time.Duration, least, most int32) (*int32, error) {
	rounded := math.Ceil(value.Seconds())
	if rounded < float64(least) || rounded > float64(most) {
		return nil, command.Usagef("--%s must be from %s to %s, not %s", flag,
			time.Duration(least)*time.Second, time.Duration(most)*time.Second, value)
	}
	return new(int32(rounded)), nil
}
