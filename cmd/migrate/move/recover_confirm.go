package move

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// confirmed takes a person's word that the destination is off: the flag, what the record says
// already, or an answer on the terminal.
func (o *recoverOptions) confirmed(ctx context.Context, k *storedMigration, d preview.Recovery) error {
	again := k.Spec.Mode == api.ModeRecover && k.Spec.Recovery.DestinationIsOff == d.DestinationCluster
	if o.off != "" || again {
		return nil
	}
	cluster := d.Destination.Cluster
	if !o.Interactive() {
		return command.Usagef("nothing says that cluster %s is off, and nobody is there to be asked; turn its machines off, or cut them off from the storage, and then: %s --destination-is-off=%s",
			cluster, o.CommandLine(), d.DestinationCluster)
	}
	words := cluster + " is off"
	fmt.Fprintf(o.ErrOut, "\nIf cluster %s still runs one of these ordinals, it will run twice, on one disk, and destroy it.\nType %q to go on: ", cluster, words)
	answer, err := readLine(ctx, o.In)
	if err != nil {
		return err
	}
	if answer != words {
		return errors.New("not confirmed; nothing has been changed")
	}
	return nil
}

// readLine reads what a person types. A signal ends the wait.
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

// probeFor is the timeout of the probe of a destination that is said to be lost.
const probeFor = 5 * time.Second

// probe asks the destination of a run, where the kubeconfig still knows it, whether pods of
// the application are there: it says the contrary of what is about to be confirmed.
func (o *recoverOptions) probe(ctx context.Context, k *storedMigration, d *preview.Recovery) {
	name := k.Annotations[records.DestinationNameAnnotationKey]
	where, err := (&flags.Destination{Context: name}).Endpoint(o.Common)
	if !k.record || name == "" || err != nil {
		d.Answers = "was not asked: this kubeconfig does not lead there"
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	connection, err := where.Connect(nil)
	if err != nil {
		d.Answers = "was not asked: " + err.Error()
		return
	}
	id, err := connection.ID(ctx)
	switch {
	case err != nil:
		d.Answers = fmt.Sprintf("does not answer, which does not say that it is off: %v", err)
		return
	case string(id) != d.DestinationCluster:
		d.Answers = "was not asked: that context leads to another cluster now"
		return
	}
	pods := &corev1.PodList{}
	if err := connection.Live().List(ctx, pods, client.InNamespace(d.Destination.Namespace)); err != nil {
		d.Answers = fmt.Sprintf("ANSWERS, and its pods could not be listed: %v", err)
		return
	}
	for i := range pods.Items {
		rest, found := strings.CutPrefix(pods.Items[i].Name, d.Destination.StatefulSet+"-")
		if _, err := strconv.ParseUint(rest, 10, 31); found && err == nil {
			d.Running = append(d.Running, pods.Items[i].Name)
		}
	}
	d.Answers = fmt.Sprintf("ANSWERS, and has %s of the application", terminal.Count(len(d.Running), "pod"))
}
