package move

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
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
