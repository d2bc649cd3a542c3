package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind/journal"
	"github.com/sliceshift/sliceshift/e2e/player"
	"github.com/sliceshift/sliceshift/internal/treediff"
	"github.com/sliceshift/sliceshift/migration/view"
	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// copies holds the auditor's results for the copies.
type copies struct {
	mu sync.Mutex
	// found has the differences by the folder of the copy.
	found   map[string][]string
	arrived map[string]bool
	differ  bool
}

func newCopies() *copies {
	return &copies{found: map[string][]string{}, arrived: map[string]bool{}}
}

// compare is the auditor's comparison of contents, and records its result.
func (c *copies) compare(ctx context.Context, from, to string) ([]string, error) {
	found, err := treediff.Compare(ctx, from, to)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found[to], c.differ = found, c.differ || len(found) > 0
	return found, nil
}

// follow delays the writes of a replica until the auditor has compared its disk. end ends that.
func (c *copies) follow(ctx context.Context, kubelet *player.Player, watching *auditor.Auditor) (end func()) {
	return kubelet.On(func(m player.Moment) {
		if _, writes := m.Pod.Labels[player.ProgramKey]; writes && m.Step == player.StepStart {
			c.hold(ctx, m.Pod.Name, watching)
		}
	})
}

// said returns the results that the mover pods of a side reported, by the root of both disks.
func (s *side) said() (map[string]report.Result, error) {
	said := map[string]report.Result{}
	messages, err := filepath.Glob(filepath.Join(s.pods, "*", manifest.MoverContainer+"-termination-log"))
	if err != nil {
		return nil, err
	}
	for _, each := range messages {
		var result report.Result
		content, err := os.ReadFile(each)
		if err != nil {
			return nil, err
		}
		if json.Unmarshal(content, &result) == nil { // a pod that was killed reports nothing
			said[result.Root] = result
		}
	}
	return said, nil
}

// hold waits until the auditor has compared as many disks as replicas have arrived, or has found a difference.
func (c *copies) hold(ctx context.Context, pod string, watching *auditor.Auditor) {
	c.mu.Lock()
	c.arrived[pod] = true
	n := len(c.arrived)
	c.mu.Unlock()
	const often, longest = 20 * time.Millisecond, time.Minute
	// After longest the replica writes all the same; then the auditor reports the disks that it could not compare.
	_ = wait.PollUntilContextTimeout(ctx, often, longest, true, func(context.Context) (bool, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.differ || watching.Compared() >= n, nil
	})
}

// table prints a line for each replica.
func (m move) table(ctx context.Context, c *copies) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	if m.method == byCopy {
		fmt.Fprint(w, "replica\tbytes\tfiles\tseconds\tseal\tauditor\t")
	} else {
		fmt.Fprint(w, "replica\tdisk\t")
	}
	fmt.Fprintln(w, "lines: east + west")
	said, err := m.west.said()
	if err != nil {
		return err
	}
	for ordinal := replicas - 1; ordinal >= 0; ordinal-- {
		volume, err := fixture.BoundVolume(ctx, m.west.client, namespace, template+"-"+podName(ordinal))
		if err != nil {
			return err
		}
		folder := volume.Spec.HostPath.Path
		lines, err := written(folder, podName(ordinal))
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", podName(ordinal), c.about(said, volume), lines)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	m.explain()
	return nil
}

// about describes the disk of a replica: its name, or the result of its copy.
func (c *copies) about(said map[string]report.Result, volume *corev1.PersistentVolume) string {
	seal, _, _ := strings.Cut(volume.Annotations[api.SealAnnotationKey], " ") // in place, the migration's UID follows
	if seal == "" {
		return volume.Name
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	result, verdict := said[seal], "NOT COMPARED"
	if found, compared := c.found[volume.Spec.HostPath.Path]; compared {
		if verdict = "equal"; len(found) > 0 {
			verdict = "DIFFERENT: " + found[0]
		}
	}
	const short = len("blake3:") + 8
	return fmt.Sprintf("%s\t%d\t%.1f\t%s\t%s", view.Size(result.Bytes), result.Files, result.Seconds, seal[:min(short, len(seal))], verdict)
}

func (m move) explain() {
	fmt.Println("\nlines: each is numbered and tied to the one before by a checksum. None is missing.")
	if m.method != byCopy {
		return
	}
	fmt.Println("seal: the digest of all that both disks held when the mover read them again.")
	judges := "rsync's dry run, and go-mtree"
	if _, err := exec.LookPath("rsync"); err != nil {
		judges = "go-mtree (rsync is not installed)"
	}
	fmt.Printf("auditor: its own comparison of the two disks, by\n%s. It shares no code with the mover.\n", judges)
}

// written returns how many lines a replica wrote on each side, or a description of its journal's fault.
func written(folder, pod string) (string, error) {
	content, err := os.ReadFile(filepath.Join(folder, journalFile))
	if err != nil {
		return "", err
	}
	read, err := journal.Read(string(content), pod)
	if err != nil {
		return "", fmt.Errorf("the journal of %s: %w", pod, err)
	}
	var lines [2]int
	for i, run := range read.Runs {
		lines[min(i, 1)] += run.Lines
	}
	return fmt.Sprintf("%d + %d", lines[0], lines[1]), nil
}
