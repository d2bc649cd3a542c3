package preview

import (
	"bufio"
	"fmt"
	"slices"
)

// Diff prints the lasting changes of a move as a diff of the relevant fields, and then the names of temporarily changed
// objects.
func (p Printer) Diff(c Changes) error {
	out := bufio.NewWriter(p.Out)
	for _, change := range c.Lasting {
		name := change.Place.String() + " " + change.Object
		old, changed := name, name
		if change.Before == nil {
			old = "/dev/null"
		}
		if change.After == nil {
			changed = "/dev/null"
		}
		fmt.Fprintf(out, "%s\n%s\n", p.Paint.Bold("--- "+old), p.Paint.Bold("+++ "+changed))
		for _, line := range p.fields(change) {
			fmt.Fprintln(out, line)
		}
	}
	if len(c.Lasting)+len(c.Passing) == 0 {
		fmt.Fprintln(out, p.Paint.Dim("# nothing will have changed"))
	}
	made := func(change Change) bool { return change.Before == nil }
	for _, group := range []struct {
		head string
		of   func(Change) bool
	}{
		{"changed on the way, and in the end as before:", func(change Change) bool { return !made(change) }},
		{"made on the way, and gone in the end:", made},
	} {
		for i, change := range matching(c.Passing, group.of) {
			if i == 0 {
				fmt.Fprintln(out, p.Paint.Dim("# "+group.head))
			}
			fmt.Fprintln(out, p.Paint.Dim("#   "+change.Place.String()+" "+change.Object))
		}
	}
	return out.Flush()
}

func matching(changes []Change, is func(Change) bool) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(change Change) bool { return !is(change) })
}

// fields returns the lines of a change: each removed or changed field, and its new value.
func (p Printer) fields(c Change) []string {
	var lines []string
	for _, was := range c.Before {
		now := slices.IndexFunc(c.After, func(f Field) bool { return f.Path == was.Path })
		switch {
		case now < 0:
			lines = append(lines, p.Paint.Red("-"+was.String()))
		case c.After[now] == was:
			lines = append(lines, " "+was.String())
		default:
			lines = append(lines, p.Paint.Red("-"+was.String()), p.Paint.Green("+"+c.After[now].String()))
		}
	}
	for _, now := range c.After {
		if !slices.ContainsFunc(c.Before, func(f Field) bool { return f.Path == now.Path }) {
			lines = append(lines, p.Paint.Green("+"+now.String()))
		}
	}
	return lines
}

// String returns the cluster and the namespace, if any.
func (p Place) String() string {
	if p.Namespace == "" {
		return p.Cluster
	}
	return p.Cluster + "/" + p.Namespace
}

// String returns the field as a line of YAML.
func (f Field) String() string { return f.Path + ": " + f.Value }
