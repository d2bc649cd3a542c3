package weigh

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// TestWeights: the weight of an answer is not less than the memory that it uses, with any content (S3).
func TestWeights(t *testing.T) {
	const many = 20000
	repeat := func(begin, each, end string) string {
		return begin + strings.TrimSuffix(strings.Repeat(each+",", many), ",") + end
	}
	fields := func(begin, end string) string {
		var b strings.Builder
		for i := range many {
			fmt.Fprintf(&b, `"%d":"",`, i)
		}
		return begin + strings.TrimSuffix(b.String(), ",") + end
	}
	for name, tc := range map[string]struct {
		into any
		data string
	}{
		"pods":            {&corev1.PodList{}, repeat(`{"items":[`, `{}`, `]}`)},
		"no pods":         {&corev1.PodList{}, repeat(`{"items":[`, `null`, `]}`)},
		"sets":            {&appsv1.StatefulSetList{}, repeat(`{"items":[`, `{}`, `]}`)},
		"volumes":         {&corev1.PersistentVolumeList{}, repeat(`{"items":[`, `{"spec":{"csi":{}}}`, `]}`)},
		"containers":      {&corev1.Pod{}, repeat(`{"spec":{"containers":[`, `{}`, `]}}`)},
		"statuses":        {&corev1.Pod{}, repeat(`{"status":{"containerStatuses":[`, `{}`, `]}}`)},
		"volumes of pods": {&corev1.Pod{}, repeat(`{"spec":{"volumes":[`, `{}`, `]}}`)},
		"templates":       {&appsv1.StatefulSet{}, repeat(`{"spec":{"volumeClaimTemplates":[`, `{}`, `]}}`)},
		"managed fields":  {&corev1.Pod{}, repeat(`{"metadata":{"managedFields":[`, `{}`, `]}}`)},
		"names":           {&corev1.Pod{}, repeat(`{"metadata":{"finalizers":[`, `"a"`, `]}}`)},
		"labels":          {&corev1.Pod{}, fields(`{"metadata":{"labels":{`, `}}}`)},
		"a long string":   {&corev1.Pod{}, `{"metadata":{"name":"` + strings.Repeat("a", 1<<20) + `"}}`},
		"resources":       {&metav1.APIResourceList{}, repeat(`{"resources":[`, `{}`, `]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			var s Scanner
			s.Read([]byte(tc.data), 0)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			if err := json.Unmarshal([]byte(tc.data), tc.into); err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if took := int64(after.HeapAlloc) - int64(before.HeapAlloc); s.Ended < took {
				t.Errorf("%d bytes weigh %d, and take %d", len(tc.data), s.Ended, took)
			}
			runtime.KeepAlive(tc.into)
		})
	}
}

// TestScanner: the weight and the end of a value do not depend on how its data is split (S3).
func TestScanner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Map(rapid.SliceOf(rapid.StringMatching(`\{"a":\[(\{\}|"[\]\\"a]{0,2}"|1|null)(,(\{"b":\[\]\}|"x"))*\]\}`)), func(all []string) string {
			return strings.Join(all, "\n")
		}).Draw(t, "values")
		var whole, pieces Scanner
		whole.Read([]byte(value), 0)
		for rest := value; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces.Read([]byte(rest[:n]), 0)
			rest = rest[n:]
		}
		if whole.Ended != pieces.Ended || whole.Weight != pieces.Weight {
			t.Fatalf("%d and %d at once, %d and %d in pieces", whole.Ended, whole.Weight, pieces.Ended, pieces.Weight)
		}
	})
}

// TestWeigh: the weight of a kept object is not less than that of its answer (S3).
func TestWeigh(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 3)}}
	weight, err := Object(pod)
	if err != nil || weight < Item+3*Element {
		t.Errorf("it weighs %d: %v", weight, err)
	}
}
