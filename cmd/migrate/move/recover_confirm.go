package move

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/view"
)

// confirmed obtains the user's confirmation that the destination is off and, for a completed migration, that nothing was
// moved on since. The sources are the flags, the record, and an answer on the terminal.
func (o *recoverOptions) confirmed(ctx context.Context, k *storedMigration, d preview.Recovery) error {
	again := k.Spec.Mode == api.ModeRecover && k.Spec.Recovery.DestinationIsOff == d.DestinationCluster
	off, settled := o.off != "" || again, !wasMoved(k) || o.settled || again && k.Spec.Recovery.NothingMovedOn
	if off && settled {
		return nil
	}
	cluster := d.Destination.Cluster
	if !o.Interactive() {
		return o.unconfirmed(d, off, settled)
	}
	words := cluster + " is off"
	fmt.Fprintf(o.ErrOut, "\nIf cluster %s still runs one of these ordinals, it will run twice, on one disk, and destroy it.\n", cluster)
	if !settled {
		words = cluster + " is off, and nothing was moved on"
		fmt.Fprintf(o.ErrOut, "The move had been completed. If anything was moved on from there since, it runs elsewhere, and will run twice as well.\n")
	}
	if len(d.Lost) > 0 {
		fmt.Fprintf(o.ErrOut, "The writes there since then are not on the disks here, and are lost: see above.\n")
	}
	fmt.Fprintf(o.ErrOut, "Type %q to go on: ", words)
	answer, err := readLine(ctx, o.In)
	if err != nil {
		return err
	}
	if answer != words {
		return errors.New("not confirmed; nothing has been changed")
	}
	return nil
}

// wasMoved reports whether a migration was completed with its ordinals at the destination.
func wasMoved(k *storedMigration) bool { return records.Completed(k.Migration) == api.ReasonMoved }

// unconfirmed returns an error with the missing flags if the user cannot be asked.
func (o *recoverOptions) unconfirmed(d preview.Recovery, off, settled bool) error {
	cluster, again := d.Destination.Cluster, o.CommandLine()
	if !settled {
		again += " --nothing-moved-on"
	}
	if off {
		return command.Usagef("the move had been completed, and nothing confirms that no ordinal was moved on from cluster %s since: there is no terminal to ask on; an ordinal that was moved on would run twice; if none was: %s", cluster, again)
	}
	return command.Usagef("nothing confirms that cluster %s is off: there is no terminal to ask on; turn its machines off, or cut them off from the storage, and then: %s --destination-is-off=%s",
		cluster, again, d.DestinationCluster)
}

// readLine reads a line from the user. A signal ends the wait.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := bufio.NewReader(in).ReadString('\n')
		answers <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", command.Cause(ctx)
	case a := <-answers:
		if a.err != nil && !errors.Is(a.err, io.EOF) {
			return "", fmt.Errorf("reading the answer: %w", a.err)
		}
		return strings.TrimSpace(a.text), nil
	}
}

// probeFor is the timeout for probing a destination that is reported lost.
const probeFor = 5 * time.Second

// heard is the result of probing a destination that is reported lost.
type heard struct {
	// answers states the result of the attempt.
	answers string
	// running lists pods of the application that still exist there.
	running []string
	// movedOn names the migration that may have moved ordinals on from there, or is empty.
	movedOn string
}

// probe checks the destination of a run, if the kubeconfig still has its context. Existing pods of the application, or a
// migration that moved them on, contradict the confirmation.
func (o *recoverOptions) probe(ctx context.Context, k *storedMigration, there plan.Side) heard {
	name := k.Annotations[records.DestinationNameAnnotationKey]
	where, err := (&flags.Destination{Context: name}).Endpoint(o.Common)
	if !k.record || name == "" || err != nil {
		return heard{answers: "was not asked: this kubeconfig does not lead there"}
	}
	ctx, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	connection, err := where.Connect(nil)
	if err != nil {
		return heard{answers: "was not asked: " + err.Error()}
	}
	id, err := connection.ID(ctx)
	switch {
	case err != nil:
		return heard{answers: fmt.Sprintf("does not answer, which does not prove that it is off: %v", err)}
	case id != k.Status.Baseline.DestinationCluster:
		return heard{answers: "was not asked: that context leads to another cluster now"}
	}
	pods := &corev1.PodList{}
	if err := connection.Live().List(ctx, pods, client.InNamespace(there.Namespace)); err != nil {
		return heard{answers: fmt.Sprintf("ANSWERS, and its pods could not be listed: %v", err)}
	}
	var h heard
	for i := range pods.Items {
		if _, is := dependencies.OrdinalOf(there.Set.Name, pods.Items[i].Name); is {
			h.running = append(h.running, pods.Items[i].Name)
		}
	}
	h.answers = fmt.Sprintf("ANSWERS, and has %s of the application", view.Count(len(h.running), "pod"))
	if h.movedOn, err = movedOnAt(ctx, connection, there.Namespace, k.Migration); err != nil {
		h.answers += fmt.Sprintf("; whether anything was moved on from there could not be seen: %v", err)
	}
	return h
}

// movedOnAt returns a Migration or the record of a run in a cluster that may have moved the ordinals of m on from its
// destination, or an empty string. It looks in all namespaces, or in one if listing all is forbidden.
func movedOnAt(ctx context.Context, at *clusters.Connection, namespace string, m *api.Migration) (string, error) {
	served, err := at.Serves(ctx, &api.Migration{})
	if err != nil {
		return "", err
	}
	all, err := records.List(served, func(list client.ObjectList, options ...client.ListOption) error {
		err := listed(ctx, at.Live(), list, namespace, options...)
		if _, resources := list.(*api.MigrationList); err != nil && resources {
			return fmt.Errorf("listing the Migrations of cluster %s: %w", at.Name(), err)
		}
		if err != nil {
			return fmt.Errorf("listing the records of runs in cluster %s: %w", at.Name(), err)
		}
		return nil
	})
	for _, other := range all {
		switch {
		case !engine.MovesOn(m, other.Migration):
		case other.Record != "":
			return fmt.Sprintf("a run of cluster %s (%s)", at.Name(), other.Title()), nil
		default:
			return fmt.Sprintf("%s in cluster %s", other.Title(), at.Name()), nil
		}
	}
	return "", err
}

// listed lists objects in all namespaces, or in one if listing all is forbidden.
func listed(ctx context.Context, from client.Reader, list client.ObjectList, namespace string, options ...client.ListOption) error {
	err := from.List(ctx, list, options...)
	if !apierrors.IsForbidden(err) {
		return err
	}
	return from.List(ctx, list, append(options, client.InNamespace(namespace))...)
}
