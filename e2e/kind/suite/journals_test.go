package suite

import (
	"context"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/cases"
	"github.com/sliceshift/sliceshift/e2e/kind/journal"
	"github.com/sliceshift/sliceshift/e2e/kind/replica"
)

func (v *move) pod(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: v.app.namespace, Name: name}
}

// ask requests a page of the workload.
func (v *move) ask(c *kind.Cluster, pod, page string) (string, error) {
	return replica.Page(v.ctx, c.Client, v.pod(pod), page, nil)
}

// tell posts to a page of the workload. It retries while the connection is refused, because a running container may
// not listen yet.
func (v *move) tell(c *kind.Cluster, pod, page string) error {
	return pollUntil(v.ctx, func(ctx context.Context) (bool, error) {
		err := c.Client.CoreV1().RESTClient().Post().Namespace(v.app.namespace).Resource("pods").
			Name(pod + ":" + strconv.Itoa(replica.Port)).SubResource("proxy").Suffix(page).Do(ctx).Error()
		if err != nil && strings.Contains(err.Error(), "connection refused") {
			return false, nil
		}
		return true, err
	})
}

// journals reads and checks the journal of every replica on one side: it is complete, and no process met another
// writer.
func (v *move) journals(c *kind.Cluster) []journal.Journal {
	v.t.Helper()
	var all []journal.Journal
	for _, pod := range v.app.pods() {
		read, err := replica.Journal(v.ctx, c.Client, v.pod(pod), pod, "/data")
		if err != nil {
			v.t.Error(err)
		}
		all = append(all, read)
	}
	return all
}

// expectMoved checks both slices and, by the journals, that every byte was carried over: each ordinal ran at the
// source, then at the destination, and nowhere else.
func (v *move) expectMoved() []journal.Journal {
	v.t.Helper()
	v.expectSlice(pair.East, 0)
	v.expectSlice(pair.West, v.app.replicas)
	journals := v.journals(pair.West)
	for _, j := range journals {
		if len(j.Runs) != 2 {
			v.t.Errorf("%s ran %d times, want once at each side: %+v", j.Pod, len(j.Runs), j.Runs)
		}
	}
	return journals
}

// expectBack checks that everything is at the source again, and that nothing was lost.
func (v *move) expectBack() []journal.Journal {
	v.t.Helper()
	v.expectSlice(pair.East, v.app.replicas)
	if _, err := pair.West.Client.AppsV1().StatefulSets(v.app.namespace).Get(v.ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		v.t.Errorf("the destination StatefulSet was not removed: %v", err)
	}
	return v.journals(pair.East)
}

// expectSlice checks how many replicas a side has, and that all of them are available.
func (v *move) expectSlice(c *kind.Cluster, replicas int32) {
	v.t.Helper()
	if v.ours(c) {
		v.must(v.awaitSlice(c, replicas))
		return
	}
	set, err := c.Client.AppsV1().StatefulSets(v.app.namespace).Get(v.ctx, name, metav1.GetOptions{})
	v.must(err)
	if *set.Spec.Replicas != replicas {
		v.t.Errorf("cluster %s has %d replicas, want %d", c.Name, *set.Spec.Replicas, replicas)
	}
	v.must(v.awaitReady(c))
}

// audit finishes the audit and adds the measurements of the case to the table.
func (v *move) audit(journals []journal.Journal, remark string) {
	v.t.Helper()
	verdict := v.auditor.Finish(v.ctx)
	if !verdict.OK() {
		v.t.Errorf("the auditor does not agree:\n%s", verdict)
	}
	v.t.Log(verdict)
	results.Add(cases.Row{Name: v.t.Name(), Verdict: &verdict, Journals: journals, Remark: remark})
}
