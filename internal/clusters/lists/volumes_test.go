package lists

import (
	"bytes"
	"context"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"

	"github.com/sliceshift/sliceshift/internal/disk"
)

// takenVolumes returns the volumes that Take takes from a list.
func takenVolumes(answer []byte, room func(int64) bool) ([]corev1.PersistentVolume, error) {
	found := &volumes{}
	ctx := context.WithValue(context.Background(), takingKey{}, &taking{form: listOfVolumes, into: found})
	_, err := Take(ctx, answer, room)
	return found.items, err
}

// TestDisksOfTrimmed: package disk finds the same disk in a volume that was trimmed before decoding as in the whole one, with
// every kind of source and every field filled in.
func TestDisksOfTrimmed(t *testing.T) {
	for seed := range int64(300) {
		var list corev1.PersistentVolumeList
		randfill.NewWithSeed(seed).NilChance(.1).NumElements(1, 3).MaxDepth(20).Funcs(
			func(at *metav1.Time, c randfill.Continue) { *at = metav1.Unix(int64(c.Uint32()), 0) },
			func(attributes *map[string]string, c randfill.Continue) {
				*attributes = map[string]string{c.String(8): c.String(8)}
				for _, key := range []string{"share", "server", "subdir", "source", "rootPath", "pool", "imageName", "targetIQN", "lun", "shareName", "volumeName"} {
					if c.Bool() {
						(*attributes)[key] = "//" + c.String(8)
					}
				}
			},
			func(source *corev1.PersistentVolumeSource, c randfill.Continue) { // it has one kind
				field := reflect.ValueOf(source).Elem().Field(c.Intn(reflect.TypeFor[corev1.PersistentVolumeSource]().NumField()))
				field.Set(reflect.New(field.Type().Elem()))
				c.Fill(field.Interface())
			},
		).Fill(&list)
		raw, err := list.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		got, err := takenVolumes(encoded(t, "PersistentVolumeList", raw), unbounded)
		if err != nil || len(got) != len(list.Items) {
			t.Fatalf("seed %d: %d of %d volumes: %v", seed, len(got), len(list.Items), err)
		}
		for i := range got {
			want, is := &list.Items[i], &got[i]
			if is.Name != want.Name || is.UID != want.UID || disk.Handle(is) != disk.Handle(want) {
				t.Errorf("seed %d: %s is %s, want %s, %s", seed, is.Name, disk.Handle(is), want.Name, disk.Handle(want))
			}
			if diff := cmp.Diff(disk.Filed(want), disk.Filed(is)) + cmp.Diff(disk.Sought(want), disk.Sought(is)); diff != "" {
				t.Errorf("seed %d, %s (-whole +trimmed):\n%s", seed, want.Name, diff)
			}
		}
	}
}

// TestWeightsOfVolumes: the weight of a list of volumes is not less than the memory that it uses, with any content (S3).
func TestWeightsOfVolumes(t *testing.T) {
	const many = 20000
	var sources []byte
	for number := range 22 {
		sources = append(sources, message(protowire.Number(number+1))...)
	}
	for name, raw := range map[string][]byte{
		"volumes":     bytes.Repeat(message(2), many),
		"all sources": bytes.Repeat(message(2, message(2, message(2, sources))), many),
		"attributes":  message(2, message(2, message(2, message(22, bytes.Repeat(message(5), many))))),
		"monitors":    message(2, message(2, message(2, message(6, bytes.Repeat(message(1), many))))),
	} {
		t.Run(name, func(t *testing.T) {
			answer := encoded(t, "PersistentVolumeList", raw)
			expectWeight(t, len(raw), func(room func(int64) bool) (any, error) { return takenVolumes(answer, room) })
		})
	}
}
