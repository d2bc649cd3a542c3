package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var (
	// onPage matches a command in a code block of a page, with continuation lines, or between backquotes.
	onPage = regexp.MustCompile("(?m)^ *kubectl migrate (?:.*\\\\\n)*.*$|`kubectl migrate [^`\n]+`")
	// word matches one word of a command line, quoted or plain.
	word = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`)
	// beyond matches the part of a line that a shell does not pass to the program.
	beyond = regexp.MustCompile(` [#|>&;].*| 2>.*`)
)

// TestPagesNameCommands: every command on a page exists, and has its flags.
func TestPagesNameCommands(t *testing.T) {
	pages := []string{"../../README.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	// The page of all commands is generated from the help.
	pages = slices.DeleteFunc(pages, func(page string) bool { return page == referencePage })
	shown := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range onPage.FindAllString(string(text), -1) {
			line = strings.ReplaceAll(strings.Trim(line, " `"), "\\\n", " ")
			args := word.FindAllString(beyond.ReplaceAllString(line, ""), -1)[2:]
			if slices.ContainsFunc(args, isVariable) {
				continue
			}
			shown++
			if err := knows(t, args); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(page), line, err)
			}
		}
	}
	if shown < 100 {
		t.Errorf("the pages show %d commands only: the test looks at the wrong place", shown)
	}
}

// isVariable reports whether a word stands for user input that could be a flag.
func isVariable(arg string) bool { return arg == "VERB" || arg == "..." || arg == "[FLAGS]" }

// knows returns an error unless the program has the command with these flags.
func knows(t *testing.T, args []string) error {
	t.Helper()
	c := wholeConsole("--help")
	if code := c.Run(t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	cmd, rest, err := c.Root.Find(args)
	if err != nil {
		return err
	}
	if cmd == c.Root && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return unknown(rest[0])
	}
	for i := range rest {
		rest[i] = strings.Trim(rest[i], `'"`)
	}
	if err := cmd.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return err
	}
	return within(cmd, cmd.Flags().Args())
}

// within returns an error if the remaining arguments name an unknown subcommand.
func within(cmd *cobra.Command, args []string) error {
	if cmd.HasSubCommands() && len(args) > 0 {
		return unknown(args[0])
	}
	return nil
}

type unknown string

func (u unknown) Error() string { return "there is no command " + string(u) }
