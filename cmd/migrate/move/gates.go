package move

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/look"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/volumes"
)

// gatesOptions are the options of the command gates.
type gatesOptions struct {
	named
	output        *command.Choice
	sourceContext string
	to            flags.Destination
}

const gatesHelp = `Asks every health gate of a migration (spec.gates) once, at each of its points, and shows
its answer. It writes nothing and does not change the answers that the manager has.

It asks a gate with your rights and from this machine, not from where the manager runs:
a Prometheus that only the manager can reach does not answer here.

NOW shows whether the migration waits for the answer at this moment: before an ordinal is
stopped, after it was started, or at the end. Gates that only warn (dryRun, or during a
rollback) show HOLDS no.

Exit codes: 0 all gates that the migration waits for have passed, 1 error, 3 one has not.`

const gatesExamples = `  # What the gates answer
  migrate gates web -n shop --context east

  # Of a Migration whose clusters are reached by kubeconfigs of Secrets
  migrate gates web -n shop --context hub --source-context east --to-context west

  # For a program
  migrate gates web -n shop -o json | jq '.[] | select(.verdict != "Passed")'`

func newGates(c *command.Common) *cobra.Command {
	o := &gatesOptions{named: named{Common: c}}
	cmd := c.Command(o, &cobra.Command{
		Use: "gates NAME", Short: "Ask the health gates of a migration now, and show their answers",
		Long: gatesHelp, Example: gatesExamples,
	})
	o.output = command.AddOutput(cmd, "table", "json", "yaml")
	cmd.Flags().StringVar(&o.sourceContext, "source-context", "", "context of the source's cluster, when the Migration is in another one")
	cmd.Flags().StringVar(&o.to.Context, "to-context", "", "context of the destination's cluster, when the Migration is in another one")
	cmd.Flags().StringVar(&o.to.Kubeconfig, "to-kubeconfig", "", "kubeconfig file of the destination's cluster (default: the one of this command)")
	return cmd
}

// gateAnswer is one row of the output.
type gateAnswer struct {
	Gate string        `json:"gate"`
	At   api.GatePoint `json:"at"`
	// Pod is the pod that the gate was evaluated for; empty at the end.
	Pod     string `json:"pod,omitempty"`
	Cluster string `json:"cluster"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Now is true if the migration waits for the gate, and Holds is false if the gate only warns.
	Now   bool `json:"now"`
	Holds bool `json:"holds"`
}

// notAsked is the verdict of a gate that cannot be evaluated yet.
const notAsked = "NotAsked"

// Run evaluates the gates and prints the results.
func (o *gatesOptions) Run(ctx context.Context) error {
	k, err := o.find(ctx)
	if err != nil {
		return err
	}
	answers, err := o.ask(ctx, k)
	if err != nil {
		return err
	}
	text := func(all []gateAnswer) error { return gatesTable(o.Out, o.Paint(), all) }
	if err := terminal.Print(o.Out, o.output.Value, answers, text); err != nil {
		return err
	}
	for _, a := range answers {
		if a.Now && a.Holds && a.Verdict != string(health.Passed) {
			return command.Refusedf("gate %s of %s has not passed: %s: %s", a.Gate, k.title(), a.Verdict, a.Message)
		}
	}
	return nil
}

func (o *gatesOptions) ask(ctx context.Context, k *storedMigration) ([]gateAnswer, error) {
	here := gatesSide{remote: k.Spec.Source.KubeConfigSecretRef != nil, context: o.sourceContext, flags: "--source-context"}
	there := gatesSide{
		remote: k.Spec.Destination.KubeConfigSecretRef != nil, context: o.to.Context, kubeconfig: o.to.Kubeconfig, flags: "--to-context or --to-kubeconfig",
		known: k.Annotations[records.DestinationNameAnnotationKey], id: types.UID(k.Annotations[records.DestinationAnnotationKey]),
	}
	if base := k.Status.Baseline; base != nil {
		here.id, there.id = base.SourceCluster, cmp.Or(base.DestinationCluster, there.id)
	}
	source, err := o.side(ctx, k, here)
	if err != nil {
		return nil, err
	}
	destination, err := o.side(ctx, k, there)
	if err != nil {
		return nil, err
	}
	e := engine.NewEngine(k.Migration, engine.Options{
		Source: source, Destination: destination, Records: k.store, Holder: "dry-run", Policy: volumes.Unrestricted(), Clock: o.Clock,
		Access: engine.Access{Secrets: health.Secrets{Reader: k.connection.Live(), Kubectl: k.kubectl()}, Addresses: health.Addresses{Any: true}},
	})
	defer e.Close()
	asked, snapshot, err := e.Ask(ctx, k.Migration)
	if err != nil {
		return nil, look.Unread(err)
	}
	if err := look.Seen(snapshot.Source, snapshot.Destination); err != nil {
		return nil, err
	}
	answers := make([]gateAnswer, 0, len(asked))
	for _, each := range asked {
		answers = append(answers, rowOf(each))
	}
	return answers, nil
}

func rowOf(a engine.Asked) gateAnswer {
	row := gateAnswer{
		Gate: a.Gate.Name, At: a.Question.Point, Pod: a.Subject.Pod, Cluster: a.Subject.Cluster,
		Verdict: string(a.Answer.Verdict), Reason: a.Answer.Reason, Message: a.Answer.Message, Now: a.Open, Holds: a.Holds,
	}
	if !a.Point.Subject {
		row.Pod, row.Verdict, row.Message = "", notAsked, "there is no such ordinal yet"
	}
	return row
}

// gatesSide holds how to connect to one side.
type gatesSide struct {
	// remote is true if a Secret holds its kubeconfig, because it is not the Migration's cluster.
	remote bool
	// context and kubeconfig are the values of the flags, and flags their names.
	context, kubeconfig, flags string
	// known is the context that a run has used, or empty.
	known string
	// id is the ID of the cluster; empty if not yet known.
	id types.UID
}

// side connects to one side with the kubeconfig of the user.
func (o *gatesOptions) side(ctx context.Context, k *storedMigration, s gatesSide) (*clusters.Connection, error) {
	connection, given := k.connection, s.context != "" || s.kubeconfig != ""
	id, err := connection.ID(ctx)
	if err != nil {
		return nil, command.Unreachable(connection.Name(), err)
	}
	elsewhere := s.remote || s.id != "" && s.id != id
	switch {
	case !given && !elsewhere:
		return connection, nil
	case !given && s.known == "":
		return nil, command.Usagef("%s goes to another cluster than %s: give %s", k.title(), connection.Name(), s.flags)
	case !given:
		s.context = s.known
	}
	where, err := o.EndpointAt(s.kubeconfig, s.context, s.flags)
	if err != nil {
		return nil, err
	}
	if connection, err = where.Connect(nil); err != nil {
		return nil, err
	}
	return connection, command.Verify(ctx, connection, s.id, "that of "+k.title(), s.flags)
}

func gatesTable(out io.Writer, paint terminal.Painter, all []gateAnswer) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "It has no health gates (spec.gates).")
		return err
	}
	t := terminal.Table{Head: []string{"GATE", "AT", "POD", "CLUSTER", "NOW", "HOLDS", "ANSWER", "MESSAGE"}}
	for _, a := range all {
		colour := paint.Red
		switch a.Verdict {
		case string(health.Passed):
			colour = paint.Green
		case notAsked:
			colour = nil
		}
		t.Add(colour, a.Gate, string(a.At), cmp.Or(a.Pod, "-"), a.Cluster, yes[a.Now], yes[a.Holds], a.Verdict, a.Message)
	}
	return t.Write(out, paint)
}

var yes = map[bool]string{true: "yes", false: "no"}
