package downtime

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

const (
	little = 8 << 20
	mebi   = 1 << 20
	// usualLarge is the size of the large scene in MiB.
	usualLarge = 2048
	// changed is the part of the data that is changed before the stop: one of that many.
	changed = 100
	// page is the write unit of a database.
	page = 8 << 10
)

// scene is one way to carry a disk of a size.
type scene struct {
	// name is the key of its figures.
	name   string
	about  string
	method api.VolumeMethod
	// size is the data on the disk in bytes.
	size int64
	// changes is true if a part of the data is changed between the last pass before the stop and the stop. The script then
	// copies the data once before its stop, too.
	changes bool
}

// The names of the scenes.
const (
	rebind    = "rebind"
	copySmall = "copy_small"
	copyLarge = "copy_large"
	snapshot  = "snapshot"
)

// scenes returns all scenes; the large one has data of a size in MiB.
func scenes(large int64) []scene {
	about := fmt.Sprintf("Copy, %s of which 1 %% was changed", resource.NewQuantity(large*mebi, resource.BinarySI))
	return []scene{
		{name: rebind, about: "Rebind", method: api.MethodRebind, size: little},
		{name: copySmall, about: "Copy, 8 MiB", method: api.MethodCopy, size: little},
		{name: copyLarge, about: about, method: api.MethodCopy, size: large * mebi, changes: true},
		{name: snapshot, about: "Snapshot, 8 MiB", method: api.MethodSnapshot, size: little},
	}
}

// label returns the name of a scene as a part of the name of a namespace.
func (s scene) label() string { return strings.ReplaceAll(s.name, "_", "-") }

// rounds returns how often a scene is played: once if it takes long.
func (s scene) rounds(quick int, attach time.Duration) int {
	if attach > 0 || s.changes || s.method == api.MethodSnapshot {
		return 1
	}
	return quick
}

// migration returns the Migration of an application.
func (s scene) migration(a fixture.App, verify string) *api.Migration {
	m := fixture.NewMigration(a.Namespace, a.Name)
	m.Spec.Destination.CreateNamespace = true
	volume := api.VolumeSpec{ClaimTemplate: measure.Template, Method: s.method}
	switch s.method {
	case api.MethodCopy:
		volume.Copy = api.CopySpec{Image: "mover", ServiceType: corev1.ServiceTypeLoadBalancer, Verify: api.CopyVerify(verify), DowntimeBudget: &metav1.Duration{Duration: patience}}
	case api.MethodSnapshot:
		volume.StorageClassName = new(driver)
	default:
	}
	m.Spec.Volumes = []api.VolumeSpec{volume}
	return m
}

// patience is a downtime that no scene reaches, since the benchmark does not wait for a better one, and the limit of a
// move.
const patience = 5 * time.Minute

// dataFile is the file with the data.
const dataFile = "data"

// fill writes data of a size, which is the same in each run and cannot be compressed.
func fill(folder string, size int64) error {
	file, err := os.Create(filepath.Join(folder, dataFile))
	if err != nil {
		return err
	}
	_, err = io.CopyN(file, rand.NewChaCha8([32]byte{7}), size)
	return errors.Join(err, file.Sync(), file.Close())
}

// change overwrites pages of the data at random offsets, one of a hundred.
func change(folder string, size int64) error {
	file, err := os.OpenFile(filepath.Join(folder, dataFile), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	places, content := rand.New(rand.NewPCG(3, 4)), make([]byte, page)
	for range size / page / changed {
		content[places.IntN(page)]++
		if _, err := file.WriteAt(content, places.Int64N(size/page)*page); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return file.Close()
}
