package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sliceshift/sliceshift/config"
)

var update = flag.Bool("update", false, "write the page of all commands")

const referencePage = "../../docs/reference-cli.md"

// TestReference: the page of all commands matches their help. With -update the test writes the page.
func TestReference(t *testing.T) {
	c := wholeConsole("--help")
	c.Program = "kubectl migrate"
	if code := c.Run(t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	var page strings.Builder
	page.WriteString(referenceIntro)
	table(&page, c.Root.PersistentFlags())
	eachCommand(c.Root, func(cmd *cobra.Command) { write(&page, cmd) })
	page.WriteString(managerIntro)
	settings := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	config.AddFlags(settings)
	table(&page, settings)
	if *update {
		if err := os.WriteFile(referencePage, []byte(page.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	if page.String() != string(written) {
		t.Errorf("%s is not what the commands say: run make generate", referencePage)
	}
}

const referenceIntro = `# Commands and settings

Every command of ` + "`kubectl migrate`" + `, and every setting of the manager. How they are used for a move is told in [move](move.md). The page is
generated from the commands (` + "`make generate`" + `); ` + "`--help`" + ` says the same.

## Exit codes

| code | means |
|---|---|
| 0 | done |
| 1 | an error, or interrupted |
| 2 | the command line cannot be meant |
| 3 | refused, or stalled: something outside must change first, and what is said names it |
| 4 | the timeout has passed |

What a command adds to this is said below it.

## Flags of all commands

The other flags of kubectl that say which cluster and which user (` + "`--as`, `--token`, `--server`" + ` and so on) work, too.
`

const managerIntro = `
## The manager

` + "`manager [FLAGS]`" + ` runs in a cluster; [install](install.md) says how. Each setting is a flag, a variable and a key of a YAML file that
` + "`--config`" + ` names, in which ` + "`--volumes-allow-paths`" + ` is ` + "`volumes.allowPaths`" + `. The flag counts most, then the variable.
`

// eachCommand calls do with every visible command, each parent before its subcommands.
func eachCommand(parent *cobra.Command, do func(*cobra.Command)) {
	for _, cmd := range parent.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" {
			do(cmd)
			eachCommand(cmd, do)
		}
	}
}

func write(page *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(page, "\n## %s\n\n%s.\n", cmd.CommandPath(), cmd.Short)
	if cmd.Runnable() && !cmd.HasSubCommands() {
		fmt.Fprintf(page, "\n```\n%s\n```\n", cmd.UseLine())
	}
	if cmd.Long != "" {
		fmt.Fprintf(page, "\n%s\n", prose(cmd.Long))
	}
	if cmd.Example != "" {
		fmt.Fprintf(page, "\n```sh\n%s\n```\n", dedent(cmd.Example))
	}
	table(page, cmd.LocalNonPersistentFlags())
}

// prose converts a help text to Markdown. Indented columns become code blocks.
func prose(text string) string {
	var lines []string
	columns := false
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimRight(line, "\n"), "#### ") // the page has no headings below a command
		if indented := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t"); indented != columns {
			columns = indented
			lines = append(lines, "```")
		}
		if columns {
			line = strings.TrimPrefix(line, "\t")
		} else {
			line = strings.ReplaceAll(line, "<", "&lt;")
		}
		lines = append(lines, line)
	}
	if columns {
		lines = append(lines, "```")
	}
	return strings.Join(lines, "\n")
}

// dedent removes the indent of examples.
func dedent(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimPrefix(strings.TrimRight(line, "\n"), "  "))
	}
	return strings.Join(lines, "\n")
}

// table writes a table of the visible flags.
func table(page *strings.Builder, flags *pflag.FlagSet) {
	var rows []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		if kind != "" {
			name += " " + cell(kind)
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |\n", name, cell(usage), defaultOf(f)))
	})
	if len(rows) == 0 {
		return
	}
	page.WriteString("\n| flag | means | default |\n|---|---|---|\n" + strings.Join(rows, ""))
}

// defaultOf returns the default of a flag, or an empty string if it is a zero value.
func defaultOf(f *pflag.Flag) string {
	if slices.Contains([]string{"", "false", "0", "0s", "[]"}, f.DefValue) {
		return ""
	}
	return "`" + f.DefValue + "`"
}

func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}
