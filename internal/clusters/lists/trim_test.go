package lists

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	"github.com/sliceshift/sliceshift/internal/clusters/slim"
)

// written returns a list of pods in the encoding of an API server.
func written(t testing.TB, raw []byte) []byte { return encoded(t, "PodList", raw) }

func encoded(t testing.TB, kind string, raw []byte) []byte {
	t.Helper()
	message := apiruntime.Unknown{TypeMeta: apiruntime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}
	data, err := message.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(slices.Clone(protobufPrefix), data...)
}

// decoded decodes such a list.
func decoded(t testing.TB, answer []byte) *corev1.PodList {
	t.Helper()
	var message apiruntime.Unknown
	if err := message.Unmarshal(bytes.TrimPrefix(answer, protobufPrefix)); err != nil {
		t.Fatal(err)
	}
	var pods corev1.PodList
	if err := pods.Unmarshal(message.Raw); err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		slim.Down(&pods.Items[i])
	}
	return &pods
}

func unbounded(int64) bool { return true }

// cached holds pods by name.
type cached struct {
	client.Reader
	pods map[client.ObjectKey]*corev1.Pod
	got  int
}

func (c *cached) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found := c.pods[key]
	if found == nil {
		return errors.New("not found")
	}
	*into.(*corev1.Pod) = *found
	c.got++
	return nil
}

// taken returns the pods that Take takes from a list, and the rest of the list.
func taken(known client.Reader, answer []byte, room func(int64) bool) (*corev1.PodList, []byte, error) {
	found := &pods{known: known}
	rest, err := Take(context.WithValue(context.Background(), takingKey{}, &taking{form: listOfPods, into: found}), answer, room)
	if err != nil {
		return nil, nil, err
	}
	var message apiruntime.Unknown
	if err := message.Unmarshal(bytes.TrimPrefix(rest, protobufPrefix)); err != nil {
		return nil, nil, err
	}
	var list corev1.PodList
	err = list.Unmarshal(message.Raw)
	list.Items = found.items
	return &list, rest, err
}

// randomPods fills every field of pods, including fields of later versions.
func randomPods(seed int64) *corev1.PodList {
	var pods corev1.PodList
	randfill.NewWithSeed(seed).NilChance(.2).NumElements(0, 4).MaxDepth(20).Funcs(
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(int64(c.Uint32()), 0) },
	).Fill(&pods)
	return &pods
}

// TestTrim: package slim gives the same result for a list that was trimmed before decoding and for the whole list.
func TestTrim(t *testing.T) {
	for seed := range int64(200) {
		raw, err := randomPods(seed).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		whole := written(t, raw)
		got, _, err := taken(nil, whole, unbounded)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want := decoded(t, whole)
		listed := cmpopts.IgnoreFields(metav1.ListMeta{}, "SelfLink", "ShardInfo")
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), listed); diff != "" {
			t.Fatalf("seed %d (-whole +trimmed):\n%s", seed, diff)
		}
	}
}

// TestTakeWhatIsKnown: a cached pod with the UID and resourceVersion of the list is not decoded again. An older version of a
// pod, or another pod of the same name, is.
func TestTakeWhatIsKnown(t *testing.T) {
	listed := randomPods(3)
	listed.Items = slices.Repeat([]corev1.Pod{{}}, 5)
	known := &cached{pods: map[client.ObjectKey]*corev1.Pod{}}
	for i := range listed.Items {
		pod := &listed.Items[i]
		pod.Name, pod.Namespace, pod.UID, pod.ResourceVersion = fmt.Sprint("web-", i), "shop", types.UID(fmt.Sprint("uid-", i)), "7"
		pod.Labels, pod.Spec.NodeName = map[string]string{"app": "web"}, "listed"
		of := pod.DeepCopy()
		of.TypeMeta, of.Spec.NodeName = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, "known"
		known.pods[client.ObjectKeyFromObject(pod)] = of
	}
	known.pods[client.ObjectKey{Namespace: "shop", Name: "web-1"}].ResourceVersion = "6"
	known.pods[client.ObjectKey{Namespace: "shop", Name: "web-2"}].UID = "another"
	delete(known.pods, client.ObjectKey{Namespace: "shop", Name: "web-3"})
	listed.Items[4].UID, known.pods[client.ObjectKey{Namespace: "shop", Name: "web-4"}].UID = "", ""
	raw, err := listed.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := taken(known, written(t, raw), unbounded)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"known", "listed", "listed", "listed", "listed"} {
		pod := &got.Items[i]
		if pod.Spec.NodeName != want || pod.Name != listed.Items[i].Name || pod.UID != listed.Items[i].UID || pod.ResourceVersion != "7" || pod.Kind != "" {
			t.Errorf("%s is the one that is %s, not %s", pod.Name, pod.Spec.NodeName, want)
		}
	}
}

// TestTrimmedIsSmall: a trimmed pod is a small part of the whole one.
func TestTrimmedIsSmall(t *testing.T) {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(strings.Repeat("a", 4096))}}}}
	raw, err := (&corev1.PodList{Items: []corev1.Pod{pod}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	_, err = trimmed(written(t, raw), listOfPods, &trimmer{take: unbounded, item: func(message []byte) error { size += len(message); return nil }})
	if err != nil || size == 0 || size > 256 {
		t.Errorf("%d bytes of %d are left: %v", size, len(raw), err)
	}
}

// message returns a field that contains other fields.
func message(number protowire.Number, fields ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), bytes.Join(fields, nil))
}

// TestWeightsOfTrimmed: the weight of a list is not less than the memory that it uses, with any content (S3). A list that
// exceeds the allowance is not decoded.
func TestWeightsOfTrimmed(t *testing.T) {
	const many = 20000
	for name, raw := range map[string][]byte{
		"pods":              bytes.Repeat(message(2), many),
		"conditions":        message(2, message(3, bytes.Repeat(message(2), many))),
		"statuses":          message(2, message(3, bytes.Repeat(message(8), many))),
		"states":            message(2, message(3, bytes.Repeat(message(8, message(2, message(1), message(3)), message(3, message(3))), many))),
		"volumes":           message(2, message(2, bytes.Repeat(message(1), many))),
		"claims":            message(2, message(2, bytes.Repeat(message(1, message(2, message(10))), many))),
		"volumes of others": message(2, message(2, bytes.Repeat(message(1, message(2, message(28))), many))),
		"owners":            message(2, message(1, bytes.Repeat(message(13), many))),
		"a long name":       message(2, message(1, message(1, make([]byte, 1<<20)))),
	} {
		t.Run(name, func(t *testing.T) {
			answer := written(t, raw)
			expectWeight(t, len(raw), func(room func(int64) bool) (any, error) {
				pods, _, err := taken(nil, answer, room)
				return pods, err
			})
		})
	}
}

// expectWeight checks that a list weighs at least the memory that it uses, and that it is not decoded in half of that.
func expectWeight(t *testing.T, size int, take func(room func(int64) bool) (any, error)) {
	t.Helper()
	var weight int64
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	list, err := take(func(w int64) bool { weight += w; return true })
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if took := int64(after.HeapAlloc) - int64(before.HeapAlloc); weight < took {
		t.Errorf("%d bytes weigh %d, and take %d", size, weight, took)
	}
	runtime.KeepAlive(list)
	left := weight / 2
	if _, err = take(func(w int64) bool { left -= w; return left >= 0 }); !errors.Is(err, ErrNoRoom) {
		t.Errorf("with half the room: %v", err)
	}
}

// FuzzTrim: for any answer, either the pods are taken and a decodable list is left, or the answer is refused (S3).
func FuzzTrim(f *testing.F) {
	raw, err := randomPods(1).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(written(f, raw))
	f.Add(written(f, message(2, message(3, []byte{0x08, 0x01}))))
	f.Add([]byte("k8s\x00"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		_, rest, err := taken(nil, answer, unbounded)
		if err != nil {
			return
		}
		if pods, _, err := taken(nil, rest, unbounded); err != nil || len(pods.Items) > 0 {
			t.Errorf("what is left cannot be read, or has pods: %v", err)
		}
	})
}
