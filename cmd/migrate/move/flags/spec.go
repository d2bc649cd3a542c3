// Package flags defines the command-line flags of a move. Most of them set a field of a Migration directly. The rules of
// the fields are those of the resource definition: see package admission.
package flags

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/recipe"
	"github.com/sliceshift/sliceshift/migration/recipes"
)

// Spec holds the flags for the spec of a Migration.
type Spec struct {
	// spec holds the fields that flags set directly.
	spec             api.MigrationSpec
	copyDependencies bool
	exportOrdinals   bool
	storageClasses   map[string]string
	accessModes      map[string]string
	shared           []string
	volume           []string
	gates            string
	hooks            string
	probe            probeFlags
	recipe           recipe.Flags
	schedule         schedule
	inPlace          inPlace
	flags            *pflag.FlagSet

	// cooked is the recipe that was applied to the spec, or nil.
	cooked *recipes.Recipe
}

// Names of flags that other commands and messages name.
const (
	Kind           = "api-version"
	ToKind         = "to-api-version"
	StorageClass   = "storage-class"
	Volume         = "volume"
	ExportServices = "export-services"
	ExportOrdinals = "export-ordinals"
	Count          = "count"

	flagOrder          = "order"
	flagMaxUnavailable = "max-unavailable"
	flagMaxInFlight    = "max-in-flight"
	flagMinReady       = "min-ready"
	flagDeadline       = "deadline"
	flagAccessModes    = "access-modes"
	flagShared         = "shared"
	flagCleanup        = "cleanup"
	flagSplitBudget    = "split-budget"
	flagGates          = "gates"
	flagHooks          = "hooks"
	flagPauseWriters   = "pause-writers"
	flagPausedByHand   = "paused-by-hand"
	flagCopy           = "copy-dependencies"
	flagOnConflict     = "on-conflict"
	flagOnChange       = "on-change"
	flagSelectsOthers  = "selects-others"
	flagCleanCopies    = "cleanup-copies"
)

// The defaults of the handoff's limits, in seconds.
const (
	standardMinReady = 0
	standardDeadline = 600
)

// Add adds all flags.
func (f *Spec) Add(flags *pflag.FlagSet) {
	f.flags = flags
	f.spec = api.MigrationSpec{
		Source:   api.SourceReference{APIVersion: appsv1.SchemeGroupVersion.String()},
		Ordinals: api.OrdinalsSpec{Order: api.HighestFirst},
		Mode:     api.ModeRun,
		Handoff:  api.HandoffSpec{MinReadySeconds: new(int32(standardMinReady)), ProgressDeadlineSeconds: new(int32(standardDeadline))},
		Cleanup:  api.CleanupSpec{Source: api.CleanupRetain},
	}
	f.addOrdinals(flags)
	f.addVolumes(flags)
	f.addInPlace(flags)
	f.addObjects(flags)
	f.addGates(flags)
}

// addOrdinals adds the flags for which ordinals move, and how many at once.
func (f *Spec) addOrdinals(flags *pflag.FlagSet) {
	spec, native, ours := &f.spec, appsv1.SchemeGroupVersion.String(), slicesapi.GroupVersion.String()
	command.FlagGroup(flags, "Ordinals and budget", func() {
		flags.Var(command.ChoiceOf(&spec.Source.APIVersion, native, native, ours), Kind, "apiVersion of the source StatefulSet")
		flags.Var(command.ChoiceOf(&spec.Destination.APIVersion, "", native, ours), ToKind, "apiVersion of the destination StatefulSet (default: the source's)")
		flags.Var(command.ChoiceOf(&spec.Ordinals.Order, api.HighestFirst, api.HighestFirst, api.LowestFirst), flagOrder, "end of the source that moves first")
		flags.Var(countOf(&spec.Ordinals.Count), Count, "how many ordinals move; the application then stays split (default: all)")
		flags.Var(command.ChoiceOf(&spec.SplitBudget, api.SplitBudgetProportional, api.SplitBudgetProportional, api.SplitBudgetSource, api.SplitBudgetDestination), flagSplitBudget, "side that has the disruption budget while the application stays split")
		flags.Var(budgetOf(&spec.MaxUnavailable), flagMaxUnavailable, "how many replicas of the whole application may be unavailable at once, as `N|N%` (default: what the PodDisruptionBudget allows, or 1)")
		flags.Var(inFlightOf(&spec.Handoff.MaxInFlight), flagMaxInFlight, "how many neighboring ordinals move at once, as `N|N%`; each counts as unavailable (default: 1)")
		flags.Var(secondsOf(&spec.Handoff.MinReadySeconds, flagMinReady, 0, longestMinReady), flagMinReady, "how long a moved replica must be Ready before the next one moves")
		flags.Var(secondsOf(&spec.Handoff.ProgressDeadlineSeconds, flagDeadline, 1, longestDeadline), flagDeadline, "how long one step of an ordinal may take before it counts as stalled")
		flags.Var(command.ChoiceOf(&spec.Cleanup.Source, api.CleanupRetain, api.CleanupRetain, api.CleanupDelete), flagCleanup, "what happens to the source's objects at the end; the storage itself always stays; with --in-place, delete gives the old volumes their own reclaim policy back")
	})
}

// addVolumes adds the flags for how data moves.
func (f *Spec) addVolumes(flags *pflag.FlagSet) {
	command.FlagGroup(flags, "Volumes", func() {
		flags.StringArrayVar(&f.volume, Volume, nil, volumeHelp)
		flags.StringToStringVar(&f.storageClasses, StorageClass, nil, "the destination's storage class for the claims of a template, as `TEMPLATE=CLASS` (repeatable)")
		flags.StringToStringVar(&f.accessModes, flagAccessModes, nil, "the access modes of the destination's new volumes for the claims of a template, as `TEMPLATE=MODE[+MODE]` (repeatable)")
		for _, name := range []string{StorageClass, flagAccessModes} {
			flags.Lookup(name).DefValue = "" // the default [] is meaningless in the help
		}
		flags.StringSliceVar(&f.shared, flagShared, nil, "the volumes of `TEMPLATE` are a path on a node (hostPath, local) with the same files in both clusters; or a volume of the pods that has the needed content at the destination (repeatable)")
	})
}

// addObjects adds the flags for objects, other than volumes, that the pods need.
func (f *Spec) addObjects(flags *pflag.FlagSet) {
	spec, needs := &f.spec, &f.spec.Dependencies
	command.FlagGroup(flags, "Other objects of the pods", func() {
		flags.BoolVar(&f.copyDependencies, flagCopy, false, "copy the other objects that the pods need: ConfigMaps, Secrets, the ServiceAccount and its rights, Services and NetworkPolicies")
		flags.Var(command.ChoiceOf(&needs.OnConflict, api.ConflictStall, api.ConflictStall, api.ConflictKeep, api.ConflictOverwrite), flagOnConflict, "if the destination has another object with the name of a copy: show the difference and wait, keep it, or overwrite it")
		flags.Var(command.ChoiceOf(&needs.OnChange, api.ChangeFollow, api.ChangeFollow, api.ChangeStall), flagOnChange, "what happens to a copy when its original changes during the move")
		flags.Var(command.ChoiceOf(&needs.SelectsOthers, api.SelectsOthersStall, api.SelectsOthersStall, api.SelectsOthersLeave, api.SelectsOthersCopy), flagSelectsOthers, "what happens to a Service or a NetworkPolicy that selects other pods, too")
		flags.Var(command.ChoiceOf(&needs.Cleanup, api.CleanupRetain, api.CleanupRetain, api.CleanupDelete), flagCleanCopies, "what happens to the copies when every ordinal is back at the source")
		flags.BoolVar(&spec.Services.Export, ExportServices, false, "create a ServiceExport for the governing Service on both sides")
		flags.BoolVar(&f.exportOrdinals, ExportOrdinals, false, "create a Service and a ServiceExport for each ordinal, on the side that holds it: its name survives the move")
		flags.BoolVar(&spec.Destination.CreateNamespace, "create-namespace", false, "create the destination's namespace when it does not exist")
	})
}

// addGates adds the flags for when ordinals move, and what is checked and done meanwhile.
func (f *Spec) addGates(flags *pflag.FlagSet) {
	command.FlagGroup(flags, "Schedule, gates and hooks", func() {
		f.schedule.add(flags)
		flags.StringVar(&f.hooks, flagHooks, "", "`FILE` with hooks: a field hooks, as in the spec of a Migration")
		flags.StringVar(&f.gates, flagGates, "", "`FILE` with health gates: a field gates, as in the spec of a Migration")
		f.probe.add(flags)
		f.recipe.Add(flags)
		flags.BoolVar(&f.spec.Writers.Pause, flagPauseWriters, false, "pause other writers of the source, such as its operator, a ScaledObject or Flux, by their documented setting, and resume them at the end")
		flags.StringSliceVar(&f.spec.Writers.PausedByHand, flagPausedByHand, nil, "a writer that you have paused where this command cannot see it, such as in the cluster of Argo CD: KIND/NAMESPACE/NAME")
	})
}

// Given reports whether the user set a flag.
func (f *Spec) Given(name string) bool { return f.flags.Changed(name) }

// Spec returns the spec of the flags.
func (f *Spec) Spec(source string, to Destination) (spec api.MigrationSpec, err error) {
	if err := to.check(); err != nil {
		return spec, err
	}
	spec = *f.spec.DeepCopy()
	if spec.Storage, err = f.storage(source); err != nil {
		return spec, err
	}
	spec.Source.Name = source
	if spec.Storage == nil {
		spec.Destination.Namespace, spec.Destination.Name = to.Namespace, to.Name
	}
	if f.exportOrdinals {
		spec.Services.PerOrdinal = api.PerOrdinalExport
	}
	if spec.Dependencies.Mode, err = f.dependencies(); err != nil {
		return spec, err
	}
	if err := readFile(flagHooks, f.hooks, &hooksFile{&spec.Hooks}); err != nil {
		return spec, err
	}
	if err := readFile(flagGates, f.gates, &gatesFile{&spec.Gates}); err != nil {
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
		Order: f.Given(flagOrder), MaxUnavailable: f.Given(flagMaxUnavailable), MinReadySeconds: f.Given(flagMinReady), ExportOrdinals: f.Given(ExportOrdinals) || spec.Storage != nil, // in place, no name leads elsewhere
	})
	if err != nil {
		return err
	}
	for _, hook := range spec.Hooks {
		if unfit := hook.Unfit(); unfit != "" {
			return command.Usagef("%shook %q: %s", f.Origin("spec.hooks"), hook.Name, unfit)
		}
	}
	return nil
}

// dependencies returns the mode of the dependencies. It rejects flags that have no meaning without copies.
func (f *Spec) dependencies() (api.DependencyMode, error) {
	switch {
	case !f.Given(flagCopy):
		return "", nil
	case f.copyDependencies:
		return api.DependenciesCopy, nil
	}
	for _, flag := range []string{flagOnConflict, flagOnChange, flagSelectsOthers, flagCleanCopies} {
		if f.Given(flag) {
			return "", command.Usagef("--%s is for --%s", flag, flagCopy)
		}
	}
	return api.DependenciesCheck, nil
}

// Origin returns the flags that have set gates or hooks of the spec, for messages. It returns an empty string for other
// fields.
func (f *Spec) Origin(field string) string {
	var origins []string
	for _, file := range []struct{ field, flag, path string }{{"spec.gates", flagGates, f.gates}, {"spec.hooks", flagHooks, f.hooks}} {
		if strings.HasPrefix(field, file.field) {
			if file.path != "" {
				origins = append(origins, "--"+file.flag+" "+file.path)
			}
			if f.cooked != nil {
				origins = append(origins, "--"+recipe.Flag+" "+f.cooked.Name)
			}
		}
	}
	if len(origins) == 0 {
		return ""
	}
	return strings.Join(origins, ", ") + ": "
}

// Recipe returns the applied recipe; nil if there is none.
func (f *Spec) Recipe() *recipes.Recipe { return f.cooked }

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
			if f.inPlace.on {
				templates[template].Method = "" // it is chosen when the claims are known
			}
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
			return nil, command.Usagef("--%s must be TEMPLATE=MODE, or TEMPLATE=MODE+MODE", flagAccessModes)
		}
		for mode := range strings.SplitSeq(modes, "+") {
			of(template).AccessModes = append(of(template).AccessModes, corev1.PersistentVolumeAccessMode(mode))
		}
	}
	for _, template := range f.shared {
		if template == "" {
			return nil, command.Usagef("--%s must be the name of a claim template", flagShared)
		}
		of(template).Shared = true
	}
	read := readVolume
	if f.inPlace.on {
		read = readInPlace
	}
	for _, text := range f.volume {
		if err := read(text, of); err != nil {
			return nil, err
		}
	}
	var volumes []api.VolumeSpec
	for _, v := range slices.SortedFunc(maps.Values(templates), func(a, b *api.VolumeSpec) int { return cmp.Compare(a.ClaimTemplate, b.ClaimTemplate) }) {
		volumes = append(volumes, *v)
	}
	return volumes, nil
}
