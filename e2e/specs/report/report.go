// Package report reads the reports that Ginkgo writes of Kubernetes' specs, and shows them as a table.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Spec is the result of one spec.
type Spec struct {
	// Name is the full text, as -list-tests prints it.
	Name string
	// State is Ginkgo's: passed, failed, panicked, timedout and others.
	State string
	Took  time.Duration
	// Reason is the first line of the failure, with the place of the assertion; empty for a spec that passed.
	Reason string
}

// Passed reports whether the spec has passed.
func (s Spec) Passed() bool { return s.State == "passed" }

// suite is the part of Ginkgo's JSON report that Read uses.
type suite struct {
	SpecReports []struct {
		ContainerHierarchyTexts []string
		LeafNodeType            string
		LeafNodeText            string
		State                   string
		RunTime                 time.Duration
		Failure                 struct {
			Message  string
			Location struct {
				FileName   string
				LineNumber int
			}
		}
	}
}

// Read returns the result of the spec of a name from a report. It is an error if the report does not have the spec.
func Read(file, name string) (Spec, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return Spec{}, fmt.Errorf("read the report of a spec: %w", err)
	}
	var suites []suite
	if err := json.Unmarshal(content, &suites); err != nil {
		return Spec{}, fmt.Errorf("read the report %s: %w", file, err)
	}
	for _, each := range suites {
		for _, spec := range each.SpecReports {
			text := strings.Join(append(slices.Clone(spec.ContainerHierarchyTexts), spec.LeafNodeText), " ")
			if spec.LeafNodeType != "It" || text != name {
				continue
			}
			found := Spec{Name: name, State: spec.State, Took: spec.RunTime}
			if at := spec.Failure; !found.Passed() {
				found.Reason = fmt.Sprintf("%s (%s:%d)", firstLine(at.Message), path.Base(at.Location.FileName), at.Location.LineNumber)
			}
			return found, nil
		}
	}
	return Spec{}, errors.New("the report " + file + " does not have the spec " + name)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// Prefix begins the names of the specs of StatefulSets.
const Prefix = "[sig-apps] StatefulSet "

// clustered is the label of the specs that run applications, which come as images.
const clustered = "[Feature:StatefulSet]"

// Names returns the names of the specs of StatefulSets from the output of -list-tests, without those of clustered applications.
func Names(listed string) []string {
	var names []string
	for line := range strings.Lines(listed) {
		at := strings.Index(line, Prefix)
		if at < 0 || strings.Contains(line, clustered) {
			continue
		}
		names = append(names, strings.TrimSpace(line[at:]))
	}
	return names
}

// Short returns a name without the prefix and the labels.
func Short(name string) string {
	var words []string
	for word := range strings.FieldsSeq(strings.TrimPrefix(name, Prefix)) {
		if !strings.HasPrefix(word, "[") {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// Alone reports whether a spec must not run beside others.
func Alone(name string) bool { return strings.Contains(name, "[Serial]") }

// Results collects the results of specs that run at the same time.
type Results struct {
	mu  sync.Mutex
	all []Spec
}

// Add adds a result.
func (r *Results) Add(s Spec) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, s)
}

// Summary returns how many specs have passed, and the name of each that has not, with the reason.
func (r *Results) Summary() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	passed := 0
	var others strings.Builder
	for _, s := range r.sorted() {
		if s.Passed() {
			passed++
			continue
		}
		fmt.Fprintf(&others, "\n- %s: %s, %s", Short(s.Name), s.State, s.Reason)
	}
	return fmt.Sprintf("%d of %d specs pass.%s", passed, len(r.all), others.String())
}

// Table returns a Markdown table with a line for each spec.
func (r *Results) Table() string {
	summary := r.Summary()
	r.mu.Lock()
	defer r.mu.Unlock()
	var out strings.Builder
	out.WriteString("# Kubernetes' specs of StatefulSets, on our kind\n\n" + summary + "\n\n| spec | result | s |\n|---|---|---|\n")
	for _, s := range r.sorted() {
		result := s.State
		if s.Reason != "" {
			result += ": " + strings.ReplaceAll(s.Reason, "|", `\|`)
		}
		fmt.Fprintf(&out, "| %s | %s | %.0f |\n", Short(s.Name), result, s.Took.Seconds())
	}
	return out.String()
}

// sorted returns the results by name. The caller holds the lock.
func (r *Results) sorted() []Spec {
	return slices.SortedFunc(slices.Values(r.all), func(a, b Spec) int { return strings.Compare(a.Name, b.Name) })
}
