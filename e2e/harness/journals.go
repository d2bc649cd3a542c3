package harness

import (
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/e2e/kind/journal"
	"github.com/sliceshift/sliceshift/e2e/kind/replica"
)

// ordinals returns all ordinals of the application.
func (v *Move) ordinals() []int32 {
	var all []int32
	for i := range v.App.Replicas {
		all = append(all, v.App.Start+i)
	}
	return all
}

func folderOf(claim string, ordinal int32) string { return fmt.Sprintf("%s/%d", claim, ordinal) }

func journalsOf(v *Move) []string {
	var dirs []string
	for _, claim := range v.App.Claims {
		for _, ordinal := range v.ordinals() {
			dirs = append(dirs, folderOf(claim, ordinal))
		}
	}
	return dirs
}

func volumesOf(v *Move) []*corev1.PersistentVolume {
	var volumes []*corev1.PersistentVolume
	for _, claim := range v.App.Claims {
		for _, ordinal := range v.ordinals() {
			name := types.NamespacedName{Namespace: v.App.Namespace, Name: fmt.Sprintf("%s-%s-%d", claim, v.App.Name, ordinal)}
			volumes = append(volumes, replica.Volume(name, folderOf(claim, ordinal)))
		}
	}
	return volumes
}

// journal returns the journal of an ordinal, read from the side on which its pod runs.
func (v *Move) journal(claim string, ordinal int32) (journal.Journal, error) {
	var errs []error
	for _, at := range []Endpoint{v.There(), v.Here()} {
		name := types.NamespacedName{Namespace: at.Namespace, Name: fmt.Sprintf("%s-%d", at.Set, ordinal)}
		pod, err := at.Client.CoreV1().Pods(name.Namespace).Get(v.Ctx, name.Name, metav1.GetOptions{})
		if err == nil && pod.DeletionTimestamp == nil {
			return replica.Journal(v.Ctx, at.Client, name, strconv.Itoa(int(ordinal)), "/"+claim)
		}
		errs = append(errs, err)
	}
	return journal.Journal{}, fmt.Errorf("ordinal %d runs nowhere: %w", ordinal, errors.Join(errs...))
}
