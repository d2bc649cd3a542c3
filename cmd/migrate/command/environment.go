package command

import (
	"path/filepath"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/sliceshift/sliceshift/internal/shell"
)

// Environment holds what a command uses of its process, all of which a test can replace.
type Environment struct {
	genericiooptions.IOStreams
	Clock clock.WithTicker
	// Program is the name by which the user calls the program: "migrate" or "kubectl migrate".
	Program string
	Args    []string
	Getenv  func(string) string
	// Hostname returns the name of the machine.
	Hostname func() (string, error)
	// Width returns the width of the terminal of Out, or 0 if Out is not a terminal.
	Width func() int
	// Interactive reports whether the user can be asked: In and ErrOut are a terminal.
	Interactive func() bool
	// Interrupt acts like the interrupt key, which has no effect while keys are read one at a time.
	Interrupt func()
}

// ProgramName returns the name by which users call a binary with this path. kubectl finds a plugin by the name
// kubectl-<words>, with a dash for each space.
func ProgramName(path string) string {
	base := strings.TrimSuffix(filepath.Base(path), ".exe")
	if plugin, found := strings.CutPrefix(base, "kubectl-"); found {
		return "kubectl " + strings.NewReplacer("-", " ", "_", "-").Replace(plugin)
	}
	return base
}

// Terminal reports whether Out is a terminal that supports cursor movement.
func (e Environment) Terminal() bool {
	return e.Width() > 0 && e.Getenv("TERM") != "dumb"
}

// Unicode reports whether the terminal can show more than ASCII. The first of these variables that is set decides
// (POSIX, Environment Variables).
func (e Environment) Unicode() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToUpper(e.Getenv(name)); value != "" {
			return strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8")
		}
	}
	return false
}

// CommandLine returns the command line, quoted so that it can be typed again.
func (e Environment) CommandLine() string {
	return strings.TrimRight(e.Program+" "+shell.Command(e.Args...), " ")
}

// Quote quotes a word for the shell.
func Quote(word string) string { return shell.Quote(word) }

// example replaces the command's name in examples.
func (e Environment) example(text string) string {
	return strings.ReplaceAll(text, "  migrate ", "  "+e.Program+" ")
}
