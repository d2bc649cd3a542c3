package move

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/recipe"
	"github.com/sliceshift/sliceshift/migration/recipes"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/pdb"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// specFlags are what a move may be asked for.
type specFlags struct {
	order, cleanup  *command.Choice
	splitBudget     *command.Choice
	kind, toKind    *command.Choice
	count           int32
	maxUnavailable  string
	minReady        time.Duration
	deadline        time.Duration
	storageClasses  map[string]string
	shared          []string
	volume          []string
	exportServices  bool
	exportOrdinals  bool
	createNamespace bool
	gates           string
	hooks           string
	recipe          recipe.Flags
	schedule        scheduleFlags
	pauseWriters    bool
	dependencies    dependencyFlags
	flags           *pflag.FlagSet

	// cooked is the recipe that is in the spec; nil: none is.
	cooked *recipes.Recipe
}

// Names of flags that are asked for again when a run is continued.
const (
	flagOrder          = "order"
	flagCount          = "count"
	flagMaxUnavailable = "max-unavailable"
	flagMinReady       = "min-ready"
	flagDeadline       = "deadline"
	flagStorageClass   = "storage-class"
	flagShared         = "shared"
	flagExportServices = "export-services"
	flagExportOrdinals = "export-ordinals"
	flagCleanup        = "cleanup"
	flagSplitBudget    = "split-budget"
	flagKind           = "api-version"
	flagToKind         = "to-api-version"
	flagGates          = "gates"
	flagHooks          = "hooks"
	flagPauseWriters   = "pause-writers"
)

func (f *specFlags) add(flags *pflag.FlagSet) {
	f.flags = flags
	f.order = command.NewChoice("highest-first", "highest-first", "lowest-first")
	f.cleanup = command.NewChoice("retain", "retain", "delete")
	f.splitBudget = command.NewChoice("proportional", "proportional", "source", "destination")
	f.kind = command.NewChoice("apps/v1", "apps/v1", slicesapi.GroupVersion.String())
	f.toKind = command.NewChoice("", "apps/v1", slicesapi.GroupVersion.String())
	flags.Var(f.kind, flagKind, "apiVersion of the source StatefulSet")
	flags.Var(f.toKind, flagToKind, "apiVersion of the destination StatefulSet (default: the source's)")
	flags.Var(f.order, flagOrder, "end of the source that moves first")
	flags.Int32Var(&f.count, flagCount, 0, "how many ordinals move; the application then stays split (default: all)")
	flags.Var(f.splitBudget, flagSplitBudget, "who has the disruption budget while the application stays split")
	flags.StringVar(&f.maxUnavailable, flagMaxUnavailable, "", "how many replicas of the whole application may be unavailable at once, as `N|N%` (default: what the PodDisruptionBudget allows, or 1)")
	flags.DurationVar(&f.minReady, flagMinReady, 0, "how long a moved replica must be Ready before the next one moves")
	flags.DurationVar(&f.deadline, flagDeadline, 10*time.Minute, "how long one step of an ordinal may take before it counts as stalled")
	flags.StringToStringVar(&f.storageClasses, flagStorageClass, nil, "the destination's storage class for the claims of a template, as `TEMPLATE=CLASS` (repeatable)")
	flags.Lookup(flagStorageClass).DefValue = "" // [] says nothing to people
	flags.StringSliceVar(&f.shared, flagShared, nil, "the volumes of `TEMPLATE` are a path on a machine (hostPath, local), and it holds the same files in both clusters (repeatable)")
	flags.Lookup(flagShared).DefValue = ""
	flags.StringArrayVar(&f.volume, flagVolume, nil, volumeHelp)
	flags.Lookup(flagVolume).DefValue = ""
	flags.BoolVar(&f.exportServices, flagExportServices, false, "make a ServiceExport for the governing Service on both sides")
	flags.BoolVar(&f.exportOrdinals, flagExportOrdinals, false, "make a Service and a ServiceExport for each ordinal, on the side that holds it: its name survives the move")
	flags.BoolVar(&f.createNamespace, "create-namespace", false, "create the destination's namespace when it does not exist")
	flags.StringVar(&f.hooks, flagHooks, "", "`FILE` with hooks: a field hooks, as in the spec of a Migration")
	flags.StringVar(&f.gates, flagGates, "", "`FILE` with health gates: a field gates, as in the spec of a Migration")
	f.recipe.Add(flags)
	f.schedule.add(flags)
	flags.BoolVar(&f.pauseWriters, flagPauseWriters, false, "pause who else writes the source, as its operator, a ScaledObject or Flux, by the setting that each documents, and end that at the end")
	f.dependencies.add(flags)
	flags.Var(f.cleanup, flagCleanup, "what happens to the source's objects at the end; the storage itself always stays")
}

// given says whether a flag was set by its user.
func (f *specFlags) given(name string) bool { return f.flags.Changed(name) }

// bounds of the API, in seconds.
const (
	longestMinReady = 86400
	longestDeadline = 604800
)

// spec is what the flags ask for.
func (f *specFlags) spec(source string, to destinationFlags) (api.MigrationSpec, error) {
	spec := api.MigrationSpec{
		Source:      api.SourceReference{Name: source, APIVersion: f.kind.Value},
		Destination: api.DestinationReference{Namespace: to.namespace, Name: to.name, APIVersion: f.toKind.Value, CreateNamespace: f.createNamespace},
		Ordinals:    api.OrdinalsSpec{Order: api.HighestFirst},
		Mode:        api.ModeRun,
		Services:    api.ServicesSpec{Export: f.exportServices},
		Writers:     api.WritersSpec{Pause: f.pauseWriters},
		Cleanup:     api.CleanupSpec{Source: api.CleanupRetain},
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
	if f.given(flagSplitBudget) {
		spec.SplitBudget = splitBudgets[f.splitBudget.Value]
	}
	if f.given(flagCount) {
		if f.count < 1 {
			return spec, command.Usagef("--%s must be at least 1, not %d", flagCount, f.count)
		}
		spec.Ordinals.Count = new(f.count)
	}
	f.dependencies.set(&spec.Dependencies, f.given)
	err := f.dependencies.check(spec.Dependencies, f.given)
	if err != nil {
		return spec, err
	}
	if spec.MaxUnavailable, err = budgetFlag(f.maxUnavailable); err != nil {
		return spec, err
	}
	if spec.Handoff.MinReadySeconds, err = seconds(flagMinReady, f.minReady, 0, longestMinReady); err != nil {
		return spec, err
	}
	if spec.Handoff.ProgressDeadlineSeconds, err = seconds(flagDeadline, f.deadline, 1, longestDeadline); err != nil {
		return spec, err
	}
	if spec.Hooks, err = readHooks(f.hooks); err != nil {
		return spec, err
	}
	if spec.Gates, err = readGates(f.gates); err != nil {
		return spec, err
	}
	if spec.Schedule, err = f.schedule.spec(f.given); err != nil {
		return spec, err
	}
	if spec.Volumes, err = f.volumes(); err != nil {
		return spec, err
	}
	return spec, f.cook(&spec)
}

// cook puts the recipe that was chosen into a spec, below what was asked for.
func (f *specFlags) cook(spec *api.MigrationSpec) (err error) {
	f.cooked, err = f.recipe.Apply(spec, spec.Source.Name, recipes.Given{
		Order: f.given(flagOrder), MaxUnavailable: f.given(flagMaxUnavailable), MinReadySeconds: f.given(flagMinReady), ExportOrdinals: f.given(flagExportOrdinals),
	})
	if err != nil || f.cooked == nil {
		return err
	}
	by := "--" + recipe.Flag + " " + f.cooked.Name
	return errors.Join(checkGates(by, spec.Gates), checkHooks(by, spec.Hooks))
}

// orders says whether the recipe that is in the spec chooses the order of the ordinals.
func (f *specFlags) orders() bool { return f.cooked != nil && f.cooked.Settings.Order != "" }

// warn says what somebody should know of the recipe that is in the spec.
func (f *specFlags) warn(c *command.Common) {
	if text := recipe.Warning(c.Program, f.cooked); text != "" {
		fmt.Fprintln(c.ErrOut, "warning: "+text)
	}
}

// volumes is what is asked for of each claim template that a flag names.
func (f *specFlags) volumes() ([]api.VolumeSpec, error) {
	templates := map[string]*api.VolumeSpec{}
	of := func(template string) *api.VolumeSpec {
		if templates[template] == nil {
			templates[template] = &api.VolumeSpec{ClaimTemplate: template, Method: api.MethodRebind}
		}
		return templates[template]
	}
	for template, class := range f.storageClasses {
		if template == "" || class == "" {
			return nil, command.Usagef("--%s must be TEMPLATE=CLASS", flagStorageClass)
		}
		of(template).StorageClassName = &class
	}
	for _, template := range f.shared {
		if template == "" {
			return nil, command.Usagef("--%s must be the name of a claim template", flagShared)
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
		volumes = append(volumes, *templates[template])
	}
	return volumes, nil
}

// splitBudgets are the words of --split-budget and of budget --to.
var splitBudgets = map[string]api.SplitBudget{
	"proportional": api.SplitBudgetProportional, "both": api.SplitBudgetProportional,
	"source": api.SplitBudgetSource, "destination": api.SplitBudgetDestination,
}

// budgetFlag reads --max-unavailable.
func budgetFlag(text string) (*intstr.IntOrString, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nil is the API's "from the PodDisruptionBudget"
	}
	value := intstr.Parse(text)
	const many = 100 // any number of replicas: only the form is judged
	if allowed, err := pdb.Budget(pdb.Form{MaxUnavailable: &value}, many); err != nil || allowed < 1 {
		return nil, command.Usagef("--%s must be a number of at least 1 or a percentage from 1%% to 100%%, not %q", flagMaxUnavailable, text)
	}
	return &value, nil
}

// seconds rounds a duration up to the whole seconds that the API counts in.
func seconds(flag string, value time.Duration, least, most int32) (*int32, error) {
	rounded := math.Ceil(value.Seconds())
	if rounded < float64(least) || rounded > float64(most) {
		return nil, command.Usagef("--%s must be from %s to %s, not %s", flag,
			time.Duration(least)*time.Second, time.Duration(most)*time.Second, value)
	}
	return new(int32(rounded)), nil
}
