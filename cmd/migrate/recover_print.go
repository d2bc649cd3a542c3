package main

import (
	"fmt"
	"strconv"
	"strings"
)

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
