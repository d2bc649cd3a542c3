package podlist

import (
	"bytes"
	"errors"
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
	"sigs.k8s.io/randfill"

	"github.com/sliceshift/sliceshift/internal/clusters/slim"
)

// written is a list of pods as an API server writes it.
func written(t testing.TB, raw []byte) []byte {
	t.Helper()
	message := apiruntime.Unknown{TypeMeta: apiruntime.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Raw: raw}
	data, err := message.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(slices.Clone(protobufPrefix), data...)
}

// decoded is such a list once it is read.
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

// randomPods fills every field of pods, whatever a later version adds to them.
func randomPods(seed int64) *corev1.PodList {
	var pods corev1.PodList
	randfill.NewWithSeed(seed).NilChance(.2).NumElements(0, 4).MaxDepth(20).Funcs(
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(int64(c.Uint32()), 0) },
	).Fill(&pods)
	return &pods
}

// TestTrim: of a list of pods that was trimmed before it was decoded, package slim leaves what it leaves of the
// whole list.
func TestTrim(t *testing.T) {
	for seed := range int64(200) {
		raw, err := randomPods(seed).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		whole := written(t, raw)
		trimmed, err := Trim(whole, unbounded)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want, got := decoded(t, whole), decoded(t, trimmed)
		listed := cmpopts.IgnoreFields(metav1.ListMeta{}, "SelfLink", "ShardInfo")
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), listed); diff != "" {
			t.Fatalf("seed %d (-whole +trimmed):\n%s", seed, diff)
		}
	}
}

// TestTrimmedIsSmall: what is left of a pod is a small part of it.
func TestTrimmedIsSmall(t *testing.T) {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(strings.Repeat("a", 4096))}}}}
	raw, err := (&corev1.PodList{Items: []corev1.Pod{pod}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	trimmed, err := Trim(written(t, raw), unbounded)
	if err != nil || len(trimmed) > 256 {
		t.Errorf("%d bytes of %d are left: %v", len(trimmed), len(raw), err)
	}
}

// message is a field that holds others.
func message(number protowire.Number, fields ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), bytes.Join(fields, nil))
}

// TestWeightsOfTrimmed: what a list weighs is not less than what it takes in memory, whatever it is made of
// (S3), and where there is no room for it, it is not decoded.
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
			var weight int64
			trimmed, err := Trim(written(t, raw), func(w int64) bool { weight += w; return true })
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			var envelope apiruntime.Unknown
			if err := envelope.Unmarshal(trimmed[len(protobufPrefix):]); err != nil {
				t.Fatal(err)
			}
			var pods corev1.PodList
			runtime.GC()
			runtime.ReadMemStats(&before)
			if err := pods.Unmarshal(envelope.Raw); err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if took := int64(after.HeapAlloc) - int64(before.HeapAlloc); weight < took {
				t.Errorf("%d bytes weigh %d, and take %d", len(raw), weight, took)
			}
			runtime.KeepAlive(pods)
			left := weight / 2
			_, err = Trim(written(t, raw), func(w int64) bool { left -= w; return left >= 0 })
			if !errors.Is(err, ErrNoRoom) {
				t.Errorf("with half the room: %v", err)
			}
		})
	}
}

// FuzzTrim: whatever an answer is, it is trimmed to a list that can be decoded, or refused (S3).
func FuzzTrim(f *testing.F) {
	raw, err := randomPods(1).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(written(f, raw))
	f.Add(written(f, message(2, message(3, []byte{0x08, 0x01}))))
	f.Add([]byte("k8s\x00"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		trimmed, err := Trim(answer, unbounded)
		if err != nil {
			return
		}
		if _, err := Trim(trimmed, unbounded); err != nil {
			t.Errorf("it cannot be trimmed again: %v", err)
		}
	})
}
