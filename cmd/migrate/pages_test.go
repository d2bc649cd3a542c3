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
	// onPage is a command in a block of a page, with the lines that go on, or between backquotes.
	onPage = regexp.MustCompile("(?m)^ *kubectl migrate (?:.*\\\\\n)*.*$|`kubectl migrate [^`\n]+`")
	// word is one of a command line: with quotes, or plain.
	word = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`)
	// beyond ends what a shell gives to the program.
	beyond = regexp.MustCompile(` [#|>&;].*| 2>.*`)
)

// TestPagesNameCommands: every command that a page shows is one, and its flags are known.
func TestPagesNameCommands(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	// What is said in messages is filled in, and the page of all commands is made of them.
	pages = slices.DeleteFunc(append(pages, "../../README.md"), func(page string) bool {
		return strings.HasSuffix(page, "messages.md") || page == referencePage
	})
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

// isVariable says whether a word of a command stands for what a reader puts there, and could be a flag.
func isVariable(arg string) bool { return arg == "VERB" || arg == "..." || arg == "[FLAGS]" }

// knows says whether the program has such a command, with such flags.
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

// within says whether what is left names a command below one that only leads to others.
func within(cmd *cobra.Command, args []string) error {
	if cmd.HasSubCommands() && len(args) > 0 {
		return unknown(args[0])
	}
	return nil
}

type unknown string

func (u unknown) Error() string { return "there is no command " + string(u) }
