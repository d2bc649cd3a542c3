package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

func (o *recoverOptions) show(d recoverDocument) error {
	switch {
	case o.quiet && !o.dryRun:
		return nil
	case o.output.value == "json" || o.output.value == "yaml":
		return printData(o.Out, o.output.value, d)
	default:
		return recoverPrinter{planPrinter{o.Out, o.paint(), o.output.value == "wide"}}.print(d)
	}
}

// recoverPrinter shows people what is known before a recovery.
type recoverPrinter struct{ planPrinter }

func (p recoverPrinter) print(d recoverDocument) error {
	fmt.Fprintf(p.out, "%s\n\n", p.paint.bold(fmt.Sprintf("Recover StatefulSet %s to %s, without %s", d.Source.StatefulSet, d.Source, d.Destination)))
	t := table{head: []string{"ORDINAL", "WAS AT", "TEMPLATE", "VOLUME HERE", "POLICY", "STATE", "HANDLE"}}
	const widest = 64
	for _, o := range d.Ordinals {
		if len(o.Disks) == 0 {
			t.add(nil, strconv.Itoa(int(o.Ordinal)), o.At, "-", "-", "-", "no volumes", "-")
		}
		for _, disk := range o.Disks {
			handle := disk.Handle
			if !p.wide {
				handle = clip(handle, widest)
			}
			t.add(nil, strconv.Itoa(int(o.Ordinal)), o.At, disk.Template, disk.Volume, disk.Policy, disk.State, handle)
		}
	}
	if err := t.write(p.out, p.paint); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "\nCluster %s (UID %s) %s.\n\n%s\n", d.Destination.Cluster, d.DestinationCluster, d.Answers, p.paint.yellow("Not known, and not to be found out from here:"))
	for _, text := range d.Unknown {
		const width = 100
		fmt.Fprintf(p.out, "  - %s\n", strings.Join(wrap(text, width), "\n    "))
	}
	fmt.Fprintln(p.out)
	if len(d.Steps) > 0 {
		if err := p.steps(d.planDocument); err != nil {
			return err
		}
		fmt.Fprintln(p.out)
	}
	for _, line := range p.conclusion(d.planDocument) {
		fmt.Fprintln(p.out, line)
	}
	return nil
}

// confirmed takes a person's word that the destination is off: the flag, what the record says
// already, or an answer on the terminal.
func (o *recoverOptions) confirmed(ctx context.Context, k *kept, d recoverDocument) error {
	again := k.Spec.Mode == api.ModeRecover && k.Spec.Recovery.DestinationIsOff == d.DestinationCluster
	if o.off != "" || again {
		return nil
	}
	cluster := d.Destination.Cluster
	if !o.asks() {
		return usagef("nothing says that cluster %s is off, and nobody is there to be asked; turn its machines off, or cut them off from the storage, and then: %s --destination-is-off=%s",
			cluster, o.again(), d.DestinationCluster)
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
		return "", causeOf(ctx)
	case a := <-answers:
		if a.err != nil && !errors.Is(a.err, io.EOF) {
			return "", fmt.Errorf("reading the answer: %w", a.err)
		}
		return strings.TrimSpace(a.text), nil
	}
}
