package chat

import "context"

// Handle plays a front: it finds the endpoint of an input, with what a front puts around each. Fronts do it by a
// router of their own, see bot.
func (c *Chat) Handle(ctx context.Context, in Input) (Turn, error) {
	h, err := c.Receive(ctx, in)
	if err != nil {
		return Turn{}, err
	}
	for _, e := range c.Endpoints() {
		if e.Route != h.Route {
			continue
		}
		if !h.Private && !e.Groups {
			return c.PrivateOnly(h)
		}
		turn, err := e.Handle(ctx, h)
		if slow, ok := c.SlowDown(h, err); ok {
			return slow, nil
		}
		return turn, err
	}
	return c.turn(h, nil, nil)
}
