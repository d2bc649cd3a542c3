package move

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/api/resource"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestCopyVerifyChanged: on trusted file systems, files that are unchanged since a warm pass are not read again
// while the ordinal is down. The seal records that, and the test, which reads everything, finds both sides
// equal.
func TestCopyVerifyChanged(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy, func(v *harness.Move) {
		v.Limit = 5 * time.Minute
		asked := &v.Migration.Spec.Volumes[0].Copy
		// The first warm pass takes longer than the minimum age of a trusted file. So the files that it writes
		// first are trusted.
		asked.Verify, asked.Bandwidth = api.CopyVerifyChanged, new(resource.MustParse("220Ki"))
	})
	before := v.large()
	seen := &copyOf{}
	warmed := harness.CopyStep(volumes.DeleteMover, volumes.RoleWarm)(func() error {
		treetest.In(t, before[0]).File("little", treetest.Bytes(8, little))
		return nil
	})
	v.Drive(v.Mover(), seen.report, warmed)
	v.ExpectMoved()
	v.expectCopies(v.There(), before)
	v.expectNoMovers()
	v.expectSeals()
	seal, warm := seen.last.Seal, seen.last.Warm
	if seal.Verify != api.CopyVerifyChanged || seal.Read < 2*little {
		t.Errorf("the seal says %+v", seal)
	}
	var system unix.Statfs_t
	v.Must(unix.Statfs(before[0], &system))
	trusted := slices.Contains([]int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC}, system.Type)
	if trusted != (seal.Trusted > 0) || trusted != (warm.Known > 0) {
		t.Errorf("on file system %#x %+v, after %+v", system.Type, seal, warm)
	}
	v.Audit()
}
