package cluster

import ("testing"; "os"; "context"; "time"; "fmt"; "syscall"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

func TestScratch(t *testing.T) {
	bin := controlPlane(t)
	c, err := Start(t.Context(), Options{Name: "x", Binary: bin, Log: os.Stderr})
	if err != nil { t.Fatal(err) }
	c.StopAfter(t)
	client := clientOf(t, c)
	for i := range 600 {
		c.Kill(Kwok)
		c.StartRole(t.Context(), Kwok)
		time.Sleep(time.Duration(i%25)*8*time.Millisecond)
		for j := range 10 {
			createPod(t, client, makePod(fmt.Sprintf("p-%d-%d", i,j), nil))
		}
		for j := range 10 {
		err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 5*time.Second, true, func(ctx context.Context) (bool, error) {
			pod, err := client.CoreV1().Pods(namespace).Get(ctx, fmt.Sprintf("p-%d-%d", i,j), metav1.GetOptions{})
			return err == nil && isPodReady(pod), nil
		})
		if err != nil {
			c.process(Kwok).cmd.Process.Signal(syscall.SIGQUIT)
			time.Sleep(time.Second)
			t.Fatalf("round %d pod %d stuck", i, j)
		}
		}
	}
}
