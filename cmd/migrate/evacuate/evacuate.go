// Package evacuate provides the command that plans the move of all StatefulSets of a cluster, or of some, as one.
package evacuate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/internal/version"
	"github.com/sliceshift/sliceshift/migration/berths"
	"github.com/sliceshift/sliceshift/migration/evacuate"
)

// options are the options of the command evacuate.
type options struct {
	*command.Common
	to       flags.Destination
	spec     flags.Spec
	selector string
	all      bool
	// namespaces are those of -n; the empty one stands for all.
	namespaces []string
	labels     labels.Selector
	// classes maps storage classes of the source to those of the destination.
	classes map[string]string
	// fallback lists the methods for claim templates that cannot be rebound, in the order of preference.
	fallback []string
	methods  []api.VolumeMethod
	image    string
	rate     string
	bytes    int64
	waves    map[string]int
	// independent lists the sets that do not wait for those that they use.
	independent []string
	limits      evacuate.Limits
	creation    creation
	output      *command.Choice
}

const help = `Plans the move of all StatefulSets of a namespace, of several, or of the whole cluster, as
one. It reads both clusters, and writes nothing without --create.

For each StatefulSet it runs the checks of "migrate plan", and shows by which method each
claim template moves. Those that cannot move are grouped by their reason, with what to do.
A StatefulSet whose pods name a Service of another one, in their environment, arguments or
ConfigMaps, moves after it; --wave declares an order that has precedence. Secrets are not
read. A StatefulSet that cannot move holds those that depend on it, and no others.

The chart shows when each StatefulSet moves if each handoff takes the expected time, under
the limits of the flags: the dark parts are the times in which one of its ordinals is down.
The times are the medians of the moves that this cluster has records of, or assumptions.
Then it compares what all of them need at the destination with what is free there: requests
of pods, placed node by node, volumes, storage by class, and quotas.

With --create it writes an Evacuation, and a Migration for each StatefulSet that can move,
for the manager of the source's cluster. The Evacuation begins each when those before it
have moved; one that stalls holds only those that depend on it.

Exit codes: 0 all can move and fit, 1 error, 2 usage, 3 some cannot move or do not fit.`

const examples = `  # Everything, to another cluster of the same kubeconfig
  migrate evacuate -A --context east --to-context west

  # Two namespaces; claims of class standard get class fast there
  migrate evacuate -n shop,bank --context east --to-context west --map-storage-class standard=fast

  # Copy the volumes that cannot be used from there; databases first
  migrate evacuate -n shop --context east --to-context west --fallback snapshot,copy --copy-image IMAGE --wave shop/web=1

  # At most four handoffs at once, one for each node
  migrate evacuate -A --context east --to-context west --handoffs 4 --handoffs-per-node 1

  # Let the manager of east run it; the Secret has the kubeconfig of west
  migrate evacuate -n shop,bank --context east --to-context west --create all --create-in shop --destination-secret west --service-account mover

  # For other people, and for a program
  migrate evacuate -A --context east --to-context west -o html >evacuation.html
  migrate evacuate -A --context east --to-context west -o json | jq '.causes[].reason'`

// New returns the command evacuate.
func New(c *command.Common) *cobra.Command {
	o := &options{Common: c}
	cmd := c.Command(o, &cobra.Command{
		Use: "evacuate", Short: "Plan the move of many StatefulSets as one, and write it for a manager",
		Long: help, Example: examples,
	})
	f := cmd.Flags()
	f.BoolVarP(&o.all, "all-namespaces", "A", false, "the StatefulSets of all namespaces")
	f.StringVarP(&o.selector, "selector", "l", "", "only StatefulSets with these labels, such as app=web")
	o.output = command.AddOutput(cmd, "table", "wide", "json", "yaml", "html", "svg")
	o.to.AddCluster(f)
	o.addOrder(f)
	o.addVolumes(f)
	o.creation.add(f)
	o.spec.Add(f)
	return cmd
}

// addOrder adds the flags for the order and the limits. The defaults are those of the manager.
func (o *options) addOrder(f *pflag.FlagSet) {
	usual := config.Default()
	o.limits.Limits = berths.Limits{Node: usual.HandoffsPerNode, Link: usual.HandoffsPerLink, StorageClass: usual.HandoffsPerStorageClass}
	o.limits.Sets = usual.ActivePerDestination
	command.FlagGroup(f, "Order and limits", func() {
		f.StringToIntVar(&o.waves, "wave", nil, "a StatefulSet that begins after those of lower waves have ended, as `[NAMESPACE/]NAME=WAVE` (repeatable; default: 0)")
		f.Lookup("wave").DefValue = ""
		f.StringSliceVar(&o.independent, "independent", nil, "a StatefulSet that does not wait for those that its pods name, as `[NAMESPACE/]NAME` (repeatable)")
		f.IntVar(&o.limits.Sets, "sets", o.limits.Sets, "how many StatefulSets move at once; 0: no limit")
		f.IntVar(&o.limits.Link, "handoffs", o.limits.Link, "how many handoffs are under way at once; 0: no limit")
		f.IntVar(&o.limits.Node, "handoffs-per-node", o.limits.Node, "how many handoffs leave one node at once; 0: no limit")
		f.IntVar(&o.limits.StorageClass, "handoffs-per-storage-class", o.limits.StorageClass, "how many handoffs carry volumes of one storage class at once; 0: no limit")
	})
}

// addVolumes adds the flags for the volumes of all sets.
func (o *options) addVolumes(f *pflag.FlagSet) {
	command.FlagGroup(f, "Volumes of all StatefulSets", func() {
		f.StringToStringVar(&o.classes, "map-storage-class", nil, "the destination's storage class for claims of a storage class, as `CLASS=CLASS` (repeatable)")
		f.Lookup("map-storage-class").DefValue = ""
		f.StringSliceVar(&o.fallback, "fallback", nil, "`METHOD` for volumes that cannot be used from the destination's cluster: snapshot, copy, or both in the order of preference")
		f.StringVar(&o.image, "copy-image", version.Image, "`IMAGE` for method copy of --fallback")
		f.StringVar(&o.rate, "copy-rate", "50Mi", "`BYTES` a second that a copy reaches, for the chart")
	})
}

// Complete reads the namespaces.
func (o *options) Complete(cmd *cobra.Command, args []string) error {
	if err := o.Common.Complete(cmd, args); err != nil {
		return err
	}
	if o.all {
		o.namespaces = []string{""}
		return nil
	}
	given, err := o.Namespace()
	for namespace := range strings.SplitSeq(given, ",") {
		if !slices.Contains(o.namespaces, namespace) {
			o.namespaces = append(o.namespaces, namespace)
		}
	}
	return err
}

// refused are the flags of a single move that an evacuation has no use for.
var refused = map[string]string{
	flags.Kind: "the kinds of StatefulSet are found", flags.Count: "all ordinals move",
	flags.InPlace: "it changes volumes where they are", flags.FromManifest: "it changes volumes where they are",
}

// Validate rejects invalid combinations of flags.
func (o *options) Validate() (err error) {
	for flag, why := range refused {
		if o.spec.Given(flag) {
			return command.Usagef("--%s is for a single move: %s", flag, why)
		}
	}
	switch {
	case o.all && *o.Config.Namespace != "":
		return command.Usagef("--namespace and --all-namespaces exclude each other")
	case o.to.Empty():
		return command.Usagef("no destination is given: set --to-context or --to-kubeconfig")
	case min(o.limits.Sets, o.limits.Link, o.limits.Node, o.limits.StorageClass) < 0:
		return command.Usagef("a limit is below 0")
	}
	for _, namespace := range o.namespaces {
		if problems := validation.IsDNS1123Label(namespace); !o.all && len(problems) > 0 {
			return command.Usagef("--namespace: no namespace can be called %q: %s", namespace, strings.Join(problems, "; "))
		}
	}
	for set, wave := range o.waves {
		if wave < 0 || wave > mostWaves {
			return command.Usagef("--wave %s=%d: a wave is a number from 0 to %d", set, wave, mostWaves)
		}
	}
	if o.labels, err = labels.Parse(o.selector); err != nil {
		return command.Usagef("--selector: %v", err)
	}
	rate, err := resource.ParseQuantity(o.rate)
	if err != nil || rate.Sign() <= 0 {
		return command.Usagef("--copy-rate must be a number of bytes above 0, not %q", o.rate)
	}
	o.bytes = rate.Value()
	if err := o.creation.validate(); err != nil {
		return err
	}
	return o.validateFallback()
}

// validateFallback reads the methods of --fallback.
func (o *options) validateFallback() error {
	for _, word := range o.fallback {
		method := map[string]api.VolumeMethod{command.Word(api.MethodSnapshot): api.MethodSnapshot, command.Word(api.MethodCopy): api.MethodCopy}[word]
		if method == "" {
			return command.Usagef("--fallback must be snapshot or copy, not %q", word)
		}
		if method == api.MethodCopy && o.image == "" {
			return command.Usagef("--fallback copy needs --copy-image: name the manager's image of this version")
		}
		o.methods = append(o.methods, method)
	}
	return nil
}

// wave returns the declared wave of a set. Without a namespace, a flag is for the set of that name in each namespace.
func (o *options) wave(set evacuate.Name) int32 {
	wave, found := o.waves[set.String()]
	if !found {
		wave = o.waves[set.Name]
	}
	return int32(wave) //nolint:gosec // validated
}

// mostWaves is the highest wave of the API.
const mostWaves = 1000

// waits reports whether a set waits for those that its pods name.
func (o *options) waits(set evacuate.Name) bool {
	return !slices.Contains(o.independent, set.String()) && !slices.Contains(o.independent, set.Name)
}

// Run reads both clusters, plans and prints.
func (o *options) Run(ctx context.Context) error {
	if err := o.admit(ctx); err != nil {
		return err
	}
	r, err := o.connect(ctx)
	if err != nil {
		return err
	}
	inventory, err := r.inventory(ctx)
	if err != nil {
		return err
	}
	o.spec.Warn(o.Common)
	d := newDocument(evacuate.Of(inventory), r.source.Name(), r.destination.Name(), r.notes)
	if err := o.show(d); err != nil {
		return err
	}
	if o.creation.name != "" {
		if err := r.create(ctx, d.plan); err != nil {
			return err
		}
	}
	switch {
	case d.Summary.StatefulSets == 0:
		fmt.Fprintf(o.ErrOut, "No StatefulSet found in %s of cluster %s.\n", cmp.Or(strings.Join(o.namespaces, ", "), "any namespace"), r.source.Name())
		return nil
	case !d.Summary.Whole:
		return command.Refusedf("of %d StatefulSets, %d can move; see what stands in the way above", d.Summary.StatefulSets, d.Summary.Moving)
	}
	return nil
}
