package specs

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/specs/report"
	"github.com/sliceshift/sliceshift/internal/figures"
	"github.com/sliceshift/sliceshift/internal/program"
)

// figuresVariable is set by make targets whose figures the documentation shows.
const figuresVariable = "SLICESHIFT_FIGURES"

// TestSpecs runs every spec of StatefulSets, each as a subtest. out/specs.md has the results.
func TestSpecs(t *testing.T) {
	listed, err := program.In{}.Output(t.Context(), programs.suite, "-list-tests")
	if err != nil {
		t.Fatal(err)
	}
	names := report.Names(listed)
	if len(names) == 0 {
		t.Fatalf("no specs of StatefulSets in %s", listed)
	}
	results := &report.Results{}
	for _, group := range []string{"together", "alone"} {
		t.Run(group, func(t *testing.T) {
			for _, name := range names {
				if alone := report.Alone(name); alone != (group == "alone") {
					continue
				}
				t.Run(report.Short(name), func(t *testing.T) {
					t.Parallel()
					play(t, name, results)
				})
			}
		})
	}
	t.Log(results.Summary())
	publish(t, results)
}

// play runs one spec in a process of its own. The log of a spec that fails stays.
func play(t *testing.T, name string, results *report.Results) {
	t.Helper()
	file := filepath.Join(programs.dir, strings.NewReplacer(" ", "-", "/", "-").Replace(report.Short(name)))
	log, err := runSpec(t.Context(), name, file+".json")
	result, unread := report.Read(file+".json", name)
	if unread != nil {
		result = report.Spec{Name: name, State: "not run", Reason: unread.Error()}
	}
	results.Add(result)
	if result.Passed() && err == nil {
		return
	}
	if err := os.WriteFile(file+".log", log, 0o600); err != nil {
		t.Error(err)
	}
	t.Errorf("%s: %s: %v: the log is %s.log", result.State, result.Reason, err, file)
}

// runSpec runs the spec of a name, writes Ginkgo's report and returns the log.
func runSpec(ctx context.Context, name, file string) (log []byte, err error) {
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, programs.suite,
		"-kubeconfig="+programs.kubeconfig, "-kubectl-path="+programs.kubectl, "-kube-api-content-type=application/json", "-provider=skeleton",
		"-e2e-output-dir="+programs.dir, "-ginkgo.focus="+regexp.QuoteMeta(name)+"$", "-ginkgo.v", "-ginkgo.no-color", "-ginkgo.json-report="+file)
	cmd.Dir, cmd.Stdout, cmd.Stderr = programs.dir, &output, &output
	cmd.Env = append(os.Environ(), "KUBECONFIG=", "KUBECACHEDIR="+filepath.Join(programs.dir, "kubectl-cache"))
	if err := child.Start(cmd); err != nil {
		return nil, err
	}
	err = cmd.Wait()
	return output.Bytes(), err
}

// publish writes the results to out/specs.md, and the number to the documentation's figures if that is requested.
func publish(t *testing.T, results *report.Results) {
	t.Helper()
	path, err := built.Module("out", "specs.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(results.Table()), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Getenv(figuresVariable) == "" {
		return
	}
	if err := figures.Write("e2e-kind-specs", results.Summary()); err != nil {
		t.Fatal(err)
	}
}
