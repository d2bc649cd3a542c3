package suite

import (
	"context"
	"fmt"
	"os"

	"github.com/sliceshift/sliceshift/e2e/kind"
)

// imageVariable names the workload's image for clusters of the user, which pull it; "-2" is
// added to its tag for the second version.
const imageVariable = "E2E_WORKLOAD_IMAGE"

// image is the workload, image2 its next version.
var image, image2 = "sliceshift/workload:e2e", "sliceshift/workload:e2e-2"

// loadImages builds the workload and puts it into every node.
func loadImages(ctx context.Context, p *kind.Pair, dir string) error {
	if p.Own() {
		if image = os.Getenv(imageVariable); image == "" {
			return fmt.Errorf("%s is not set: build the workload with `go run ./e2e/kind/image -workload NAME:TAG`, push it and name it", imageVariable)
		}
		image2 = image + "-2"
		return nil
	}
	if err := kind.BuildWorkload(ctx, dir, image); err != nil {
		return err
	}
	for _, each := range []string{image, image2} {
		if err := p.Load(ctx, each); err != nil {
			return err
		}
	}
	return nil
}
