package command

import (
	"path/filepath"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/sliceshift/sliceshift/internal/shell"
)

// Environment is what a command gets from the process: all that a test replaces.
type Environment struct {
	genericiooptions.IOStreams
	Clock clock.WithTicker
	// Program is how the command is called: "migrate" or "kubectl migrate".
	Program string
	Args    []string
	Getenv  func(string) string
	// Hostname names the machine.
	Hostname func() (string, error)
	// Width is that of the terminal which Out is; 0 when it is none.
	Width func() int
	// Interactive says whether a person can be asked: In and ErrOut are a terminal.
	Interactive func() bool
	// Interrupt does what the key for it does on a terminal: while keys are read one by one it does nothing
	// by itself.
	Interrupt func()
}

// ProgramName is how people call a binary of this path. kubectl finds a plugin by
// the name kubectl-<words>, with a dash for each blank.
func ProgramName(path string) string {
	base := strings.TrimSuffix(filepath.Base(path), ".exe")
	if plugin, found := strings.CutPrefix(base, "kubectl-"); found {
		return "kubectl " + strings.NewReplacer("-", " ", "_", "-").Replace(plugin)
	}
	return base
}

// Terminal says whether Out can be drawn on.
func (e Environment) Terminal() bool {
	return e.Width() > 0 && e.Getenv("TERM") != "dumb"
}

// Unicode says whether the terminal shows more than ASCII. The first of these that
// is set decides (POSIX, Environment Variables).
func (e Environment) Unicode() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToUpper(e.Getenv(name)); value != "" {
			return strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8")
		}
	}
	return false
}

// CommandLine is the command line that was given, fit to be typed again.
func (e Environment) CommandLine() string {
	return strings.TrimRight(e.Program+" "+shell.Command(e.Args...), " ")
}

// Quote protects a word from the shell.
func Quote(word string) string { return shell.Quote(word) }

// example puts the command's name into examples.
func (e Environment) example(text string) string {
	return strings.ReplaceAll(text, "  migrate ", "  "+e.Program+" ")
}
