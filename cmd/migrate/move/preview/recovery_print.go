package preview

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
)

// RecoveryPrinter prints a Recovery as text.
type RecoveryPrinter struct{ Printer }

// Print prints the recovery.
func (p RecoveryPrinter) Print(d Recovery) error {
	fmt.Fprintf(p.Out, "%s\n\n", p.Paint.Bold(fmt.Sprintf("Recover StatefulSet %s to %s, without %s", d.Source.StatefulSet, d.Source, d.Destination)))
	t := terminal.Table{Head: []string{"ORDINAL", "WAS AT", "TEMPLATE", "VOLUME HERE", "POLICY", "STATE", "HANDLE"}}
	const widest = 64
	for _, o := range d.Ordinals {
		if len(o.Disks) == 0 {
			t.Add(nil, strconv.Itoa(int(o.Ordinal)), o.At, "-", "-", "-", "no volumes", "-")
		}
		for _, disk := range o.Disks {
			handle := disk.Handle
			if !p.Wide {
				handle = terminal.Clip(handle, widest)
			}
			t.Add(nil, strconv.Itoa(int(o.Ordinal)), o.At, disk.Template, disk.Volume, disk.Policy, disk.condition(), handle)
		}
	}
	if err := t.Write(p.Out, p.Paint); err != nil {
		return err
	}
	fmt.Fprintf(p.Out, "\nCluster %s (UID %s) %s.\n\n", d.Destination.Cluster, d.DestinationCluster, d.Answers)
	p.list(p.Paint.Red("Lost with it, whatever is done here:"), d.Lost)
	p.list(p.Paint.Yellow("Not known, and not to be found out from here:"), d.Unknown)
	if len(d.Steps) > 0 && !p.Wide {
		if err := p.facts(d.Plan); err != nil {
			return err
		}
	}
	if err := p.steps(d.Plan); err != nil {
		return err
	}
	for _, line := range p.conclusion(d.Plan) {
		fmt.Fprintln(p.Out, line)
	}
	return nil
}

func (p RecoveryPrinter) list(head string, texts []string) {
	if len(texts) == 0 {
		return
	}
	fmt.Fprintln(p.Out, head)
	for _, text := range texts {
		const width = 100
		fmt.Fprintf(p.Out, "  - %s\n", strings.Join(terminal.Wrap(text, width), "\n    "))
	}
	fmt.Fprintln(p.Out)
}

// condition returns the state of a disk and the age of its data.
func (d Disk) condition() string {
	if d.Before == nil {
		return d.State
	}
	return d.State + ", as of before " + d.Before.UTC().Format(time.RFC3339)
}
