package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups of commands, in the order of the help.
const (
	Moving     = "move"
	Looking    = "look"
	Storage    = "storage"
	Installing = "install"
)

var groupTitles = []*cobra.Group{
	{ID: Moving, Title: "Move, and steer a move:"},
	{ID: Looking, Title: "Look at moves:"},
	{ID: Storage, Title: "Volumes and StatefulSets of our kind:"},
	{ID: Installing, Title: "Install, and this program:"},
}

// In adds commands to a group of the help.
func In(group string, commands ...*cobra.Command) []*cobra.Command {
	for _, cmd := range commands {
		cmd.GroupID = group
	}
	return commands
}

// flagGroup is the annotation that holds the group title of a flag.
const flagGroup = "sliceshift.io/group"

// FlagGroup puts the flags that add defines under a title in the help.
func FlagGroup(flags *pflag.FlagSet, title string, add func()) {
	before := map[string]bool{}
	flags.VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	add()
	flags.VisitAll(func(f *pflag.Flag) {
		if !before[f.Name] && f.Annotations[flagGroup] == nil {
			_ = flags.SetAnnotation(f.Name, flagGroup, []string{title}) // fails only for an unknown flag
		}
	})
}

// Grouped holds the flags of one group.
type Grouped struct {
	Title string
	Flags *pflag.FlagSet
}

// otherFlags is the title of flags without a group.
const otherFlags = "Flags"

// FlagGroups returns the flags of a command by group. Flags without a group come first.
func FlagGroups(flags *pflag.FlagSet) []Grouped {
	groups := []Grouped{{Title: otherFlags, Flags: pflag.NewFlagSet("", pflag.ContinueOnError)}}
	ordered := *flags
	ordered.SortFlags = false
	ordered.VisitAll(func(f *pflag.Flag) {
		title := otherFlags
		if named := f.Annotations[flagGroup]; len(named) > 0 {
			title = named[0]
		}
		at := slices.IndexFunc(groups, func(g Grouped) bool { return g.Title == title })
		if at < 0 {
			at = len(groups)
			groups = append(groups, Grouped{Title: title, Flags: pflag.NewFlagSet("", pflag.ContinueOnError)})
		}
		groups[at].Flags.AddFlag(f)
	})
	return slices.DeleteFunc(groups, func(g Grouped) bool { return !g.Flags.HasAvailableFlags() })
}

// usage prints the usage of a command: the text of cobra, with the flags in groups.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if cmd.Runnable() && !cmd.HasSubCommands() {
		b.WriteString("\n  " + cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n  " + cmd.CommandPath() + " [command]")
	}
	b.WriteString("\n")
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		writeCommands(&b, cmd)
	}
	for _, group := range FlagGroups(cmd.LocalFlags()) {
		b.WriteString("\n" + group.Title + ":\n" + group.Flags.FlagUsages())
	}
	if cmd.HasAvailableInheritedFlags() {
		b.WriteString("\nFlags of all commands:\n" + cmd.InheritedFlags().FlagUsages())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more of a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	list := func(title, group string) {
		head := "\n" + title + "\n"
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(b, "%s  %-*s %s\n", head, sub.NamePadding(), sub.Name(), sub.Short)
				head = ""
			}
		}
	}
	for _, group := range cmd.Groups() {
		list(group.Title, group.ID)
	}
	list("Available Commands:", "")
}
