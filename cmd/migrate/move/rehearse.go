package move

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/uuid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/rehearse"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/version"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/recipes"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/migration/stage"
	"github.com/sliceshift/sliceshift/workload"
)

// rehearseOptions are the options of the command rehearse.
type rehearseOptions struct {
	moveOptions
	output          *command.Choice
	keep, clean     bool
	allow, forbid   []string
	isolated, image string
	within, before  time.Duration
	timeout, limit  time.Duration
	method          *command.Choice
	allowed         []rehearsal.Allowed
}

const rehearseHelp = `Rehearses a move without stopping anything. The pods start at the destination on clones
of their volumes, under their own names, in a namespace of their own. The command waits
until they are Ready, asks the health gates, notes how long each part took, and deletes
everything. Then plan expects that downtime, and report compares it with the move.

A NetworkPolicy denies the pods everything except their own namespace, the cluster's DNS
and the addresses of --allow. First a pod must reach a forbidden address without the
policy; another pod must not reach it behind the policy. Otherwise the rehearsal is
refused, before a pod of the application starts.

Volumes are cloned by snapshots of the running volumes: their CSI driver must take
snapshots that the destination can import. Where it cannot, --method copy copies them while
the pods run. Such a copy is of no single moment, so it shows whether the pods start, and
not whether a database recovers. At the source it writes nothing else than VolumeSnapshots
or the pods that read, which it deletes, and a ConfigMap with the result.

A recipe states whether its system may be rehearsed. Without a recipe, state in --isolated
why a second start of the application does no harm.

Exit codes: 0 rehearsed, 1 error or interrupted, 2 usage, 3 refused or failed, 4 timeout.`

const rehearseExamples = `  # In another cluster
  migrate rehearse db -n shop --context east --to-context west --recipe postgresql

  # Without a recipe; the pods may reach a licence server
  migrate rehearse web -n shop --context east --to-context west \
    --isolated "it writes to its own volume only" --allow 10.4.0.9:443

  # Measure what the source's clients notice meanwhile, and stop if it is too much
  migrate rehearse web -n shop --context east --to-context west --recipe redis \
    --probe https://web.example.com/healthz --latency-limit 200ms

  # Where no snapshots can be taken
  migrate rehearse web -n shop --context east --to-context west --recipe redis --method copy

  # Keep the pods to look at them; delete everything later
  migrate rehearse web -n shop --context east --to-context west --recipe redis --keep
  migrate rehearse web -n shop --context east --to-context west --clean

  # For a program
  migrate rehearse web -n shop --context east --to-context west --recipe redis -o json | jq .result.seconds`

// Defaults of the command.
const (
	standardWithin = 10 * time.Minute
	standardBefore = 10 * time.Second
)

// The ways to clone a volume.
const (
	bySnapshot = "snapshot"
	byCopy     = "copy"
)

func newRehearse(c *command.Common) *cobra.Command {
	o := &rehearseOptions{moveOptions: moveOptions{Common: c}, method: command.NewChoice(bySnapshot, bySnapshot, byCopy)}
	cmd := c.Command(o, &cobra.Command{
		Use: "rehearse STATEFULSET", Short: "Start clones at the destination, isolated, and measure their start; stops nothing",
		Long: rehearseHelp, Example: rehearseExamples,
	})
	flags := cmd.Flags()
	o.to.Add(flags)
	o.spec.Add(flags)
	o.output = command.AddOutput(cmd, "text", "json", "yaml")
	command.FlagGroup(flags, "Rehearsal", func() {
		flags.StringVar(&o.isolated, "isolated", "", "without a recipe: the `REASON` why a second start of the application, behind the NetworkPolicy, does no harm")
		flags.StringArrayVar(&o.allow, "allow", nil, "an address that the pods may reach, as `IP:PORT` or CIDR:PORT (repeatable)")
		flags.StringArrayVar(&o.forbid, "forbid", nil, "an address that must not be reached, as `HOST:PORT`, to try the NetworkPolicy (repeatable; default: the destination's API server)")
		flags.Var(o.method, "method", "how volumes are cloned: snapshot, or copy while the pods run")
		flags.StringVar(&o.image, "image", version.Image, "image of the manager, for the pods that try the NetworkPolicy and those that copy")
		flags.DurationVar(&o.within, "ready-within", standardWithin, "how long the pods may take until they are Ready and the gates pass")
		flags.DurationVar(&o.before, "probe-before", standardBefore, "how long --probe measures the source before the rehearsal begins")
		flags.DurationVar(&o.limit, "latency-limit", 0, "end the rehearsal if the p99 of --probe in ten seconds is above this, or a request fails (default: never)")
		flags.BoolVar(&o.keep, "keep", false, "keep the pods, their volumes and the namespace at the end")
		flags.BoolVar(&o.clean, "clean", false, "only delete what an earlier rehearsal has kept or left")
	})
	flags.DurationVar(&o.timeout, "timeout", 0, "give up after this time, and delete everything (default: never)")
	return cmd
}

// Complete reads the addresses.
func (o *rehearseOptions) Complete(cmd *cobra.Command, args []string) error {
	for _, text := range o.allow {
		a, err := rehearsal.ParseAllowed(text)
		if err != nil {
			return command.Usagef("--allow: %v", err)
		}
		o.allowed = append(o.allowed, a)
	}
	return o.moveOptions.Complete(cmd, args)
}

// Validate rejects invalid combinations of flags.
func (o *rehearseOptions) Validate() error {
	probe := o.requested.Spec.Probe
	switch {
	case o.keep && o.clean:
		return command.Usagef("--keep and --clean exclude each other")
	case o.within <= 0:
		return command.Usagef("--ready-within must be positive")
	case o.before < 0:
		return command.Usagef("--probe-before must not be negative")
	case o.limit < 0:
		return command.Usagef("--latency-limit must not be negative")
	case o.limit > 0 && probe == nil:
		return command.Usagef("--latency-limit needs --probe URL")
	case o.isolated != "" && o.spec.Recipe() != nil && o.spec.Recipe().Rehearsal != nil:
		return command.Usagef("--isolated is for an application without a recipe: recipe %s states whether it may be rehearsed", o.spec.Recipe().Name)
	case probe != nil && probe.Prometheus != nil:
		return command.Usagef("a rehearsal measures a URL: --probe URL")
	}
	if err := command.ValidateTimeout(o.timeout); err != nil {
		return err
	}
	return o.moveOptions.Validate()
}

// Run rehearses the move.
func (o *rehearseOptions) Run(ctx context.Context) error {
	return command.Within(ctx, o.timeout, o.run)
}

func (o *rehearseOptions) run(ctx context.Context) error {
	t, err := o.connect(nil)
	if err != nil {
		return err
	}
	o.spec.Warn(o.Common)
	store := &stage.Store{Client: t.source.Live(), Namespace: o.namespace, Set: o.set}
	before, err := store.Load(ctx)
	if err != nil {
		return fmt.Errorf("cluster %s: reading the record of the last rehearsal: %w", t.source.Name(), err)
	}
	next, err := o.begin(ctx, t, before)
	if err != nil {
		return err
	}
	config := stage.Config{
		Source: t.source, Destination: t.destination, Clock: o.Clock, Spec: o.requested.Spec, Word: o.word(), Image: o.image, Allow: o.allowed, Forbid: o.forbid,
		Copies: o.method.Value == byCopy,
	}
	if before != nil && before.Open() {
		if err := o.leftovers(ctx, t, config, store, *before); err != nil {
			return err
		}
	}
	if o.clean {
		return o.sayClean(t, before)
	}
	return o.rehearse(ctx, config, store, next)
}

// begin returns the record of the rehearsal that begins now.
func (o *rehearseOptions) begin(ctx context.Context, t *task, before *rehearsal.Record) (rehearsal.Record, error) {
	var sides [2]rehearsal.Place
	for i, connection := range []*clusters.Connection{t.source, t.destination} {
		id, err := connection.ID(ctx)
		if err != nil {
			return rehearsal.Record{}, command.Unreachable(connection.Name(), err)
		}
		sides[i].Cluster = id
	}
	from, to := &sides[0], &sides[1]
	spec := o.requested.Spec
	from.Namespace, from.StatefulSet, from.APIVersion = o.namespace, o.set, cmp.Or(spec.Source.APIVersion, workload.NativeVersion)
	to.Namespace, to.StatefulSet, to.APIVersion = spec.Destination.Namespace, spec.Destination.Name, cmp.Or(spec.Destination.APIVersion, from.APIVersion)
	return rehearsal.Begin(uuid.NewUUID(), *from, *to, o.Clock.Now(), before), nil
}

// word returns what states whether the application may be rehearsed; nil if nothing does.
func (o *rehearseOptions) word() *rehearsal.Word {
	r := o.spec.Recipe()
	switch {
	case r != nil && r.Rehearsal != nil:
		return &rehearsal.Word{Recipe: r.Name, System: r.Title, Safe: r.Rehearsal.Verdict == recipes.Safe, Why: r.Rehearsal.Why, Unasked: r.Rehearsal.Unasked}
	case o.isolated != "":
		return &rehearsal.Word{Safe: true, Why: o.isolated}
	}
	return nil
}

// leftovers deletes the objects of an earlier rehearsal. Objects that it keeps for the user are deleted on request only.
func (o *rehearseOptions) leftovers(ctx context.Context, t *task, config stage.Config, store *stage.Store, before rehearsal.Record) error {
	if err := command.Verify(ctx, t.destination, before.Destination.Cluster, "the destination of the last rehearsal of "+o.set, "--to-context or --to-kubeconfig"); err != nil {
		return err
	}
	again := o.Again("rehearse", o.set, o.namespace) + " --clean, with the flags of the destination"
	if before.Kept() && !o.clean {
		return command.Refusedf("the last rehearsal of StatefulSet %s/%s has kept its objects in namespace %s of cluster %s; to delete them: %s", o.namespace, o.set, before.Namespace, t.destination.Name(), again)
	}
	fmt.Fprintf(o.ErrOut, "deleting what the rehearsal of %s has left in namespace %s of cluster %s\n", before.Began.UTC().Format(time.DateTime), before.Namespace, t.destination.Name())
	d := rehearse.Driver{Common: o.Common, Stage: stage.New(config, before), Store: store, Record: before, Again: again}
	_, err := d.Clean(ctx)
	return err
}

func (o *rehearseOptions) sayClean(t *task, before *rehearsal.Record) error {
	text := fmt.Sprintf("nothing is left of a rehearsal of StatefulSet %s/%s", o.namespace, o.set)
	switch {
	case before == nil:
		text = fmt.Sprintf("cluster %s has no record of a rehearsal of StatefulSet %s/%s; if it was deleted, find the namespaces of rehearsals: %s",
			t.source.Name(), o.namespace, o.set, plan.Kubectl(t.destination.Name(), t.destination.Flags()).Do("get", "namespaces", "-l", api.RehearsalLabelKey))
	case before.Open():
		text = fmt.Sprintf("everything of the last rehearsal of StatefulSet %s/%s is deleted", o.namespace, o.set)
	}
	return terminal.Print(o.Out, o.output.Value, cleaned{text}, func(c cleaned) error {
		_, err := fmt.Fprintln(o.Out, c.Message)
		return err
	})
}

// cleaned is the result of --clean.
type cleaned struct {
	Message string `json:"message"`
}

// rehearse checks, rehearses, and prints the result.
func (o *rehearseOptions) rehearse(ctx context.Context, config stage.Config, store *stage.Store, record rehearsal.Record) error {
	record.Keep = o.keep
	s := stage.New(config, record)
	defer s.Close()
	findings, err := s.Prepare(ctx, record, rehearsal.Ask{Within: o.within, LatencyLimit: o.limit})
	if err != nil {
		return command.Ended(ctx, fmt.Errorf("preparing the rehearsal: %w", err))
	}
	if len(findings) > 0 {
		return o.refuse(findings)
	}
	meter, err := rehearse.NewMeter(o.requested.Spec.Probe, o.Clock)
	if err != nil {
		return command.Usagef("--probe: %v", err)
	}
	if err := meter.Before(ctx, o.before); err != nil {
		return err
	}
	defer meter.Stop()
	d := rehearse.Driver{
		Common: o.Common, Stage: s, Store: store, Record: record, Latest: meter.Latest,
		Again: o.Again("rehearse", o.set, o.namespace) + " --clean, with the flags of the destination",
	}
	ended, err := d.Drive(ctx)
	if err != nil {
		return err
	}
	document := rehearse.NewDocument(ended, config, meter.Latency(), copies(o.requested.Spec))
	if err := terminal.Print(o.Out, o.output.Value, document, rehearse.Printer(o.Out, o.Paint())); err != nil {
		return err
	}
	return document.Err(ctx)
}

// copies reports whether the move copies volumes, whose last pass no rehearsal measures.
func copies(spec api.MigrationSpec) bool {
	for _, v := range spec.Volumes {
		if v.Method == api.MethodCopy {
			return true
		}
	}
	return false
}

// refusal is why a rehearsal did not begin.
type refusal struct {
	Outcome  rehearsal.Outcome `json:"outcome"`
	Findings []plan.Finding    `json:"findings"`
}

// refuse prints the findings.
func (o *rehearseOptions) refuse(findings []plan.Finding) error {
	refused := refusal{rehearsal.Refused, findings}
	err := terminal.Print(o.Out, o.output.Value, refused, func(refusal) error {
		_, err := fmt.Fprint(o.ErrOut, preview.FindingsText(findings, terminal.Painter{On: o.Paint().On && o.Terminal()}))
		return err
	})
	if err != nil {
		return err
	}
	return command.Refusedf("the rehearsal of StatefulSet %s/%s is refused; nothing has been created", o.namespace, o.set)
}
